-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Ingest servers of other platforms, to which streams are forwarded.
CREATE TABLE restream_targets (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL,
    name        text NOT NULL,
    platform    text NOT NULL,
    -- The whole address with the stream key, encrypted; NULL once the target is deleted.
    address     bytea,
    -- The last characters of the address, for its mask.
    address_end text NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    deleted_at  timestamptz,
    CHECK ((address IS NULL) = (deleted_at IS NOT NULL))
);
CREATE INDEX restream_targets_list_idx ON restream_targets (tenant_id, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX restream_targets_created_idx ON restream_targets (tenant_id, created_at);

-- The forwarding of one broadcast of a stream to one target.
CREATE TABLE restream_routes (
    id             text PRIMARY KEY,
    tenant_id      text NOT NULL,
    stream_id      text NOT NULL,
    target_id      text NOT NULL REFERENCES restream_targets (id),
    status         text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'live', 'ended', 'failed')),
    -- When the target first accepted the stream.
    started_at     timestamptz,
    ended_at       timestamptz,
    error_message  text,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    -- The state of the connection and figures since the stream's node forwards it. That node writes them every few seconds.
    bitrate_kbps   integer NOT NULL DEFAULT 0,
    dropped_frames bigint NOT NULL DEFAULT 0,
    reconnects     bigint NOT NULL DEFAULT 0,
    last_error     text,
    connected_at   timestamptz,
    lost_at        timestamptz,
    health_at      timestamptz,
    CHECK ((ended_at IS NOT NULL) = (status IN ('ended', 'failed'))),
    CHECK ((error_message IS NOT NULL) = (status = 'failed')),
    CHECK (status <> 'live' OR started_at IS NOT NULL)
);
CREATE INDEX restream_routes_list_idx ON restream_routes (tenant_id, stream_id, id DESC);
CREATE UNIQUE INDEX restream_routes_open_idx ON restream_routes (stream_id, target_id) WHERE status IN ('pending', 'live');
CREATE INDEX restream_routes_target_idx ON restream_routes (target_id);
CREATE INDEX restream_routes_ended_idx ON restream_routes (ended_at);
