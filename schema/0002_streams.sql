-- +goose Up

CREATE TABLE streams (
    id                   text PRIMARY KEY,
    tenant_id            text NOT NULL REFERENCES tenants (id),
    name                 text NOT NULL,
    mode                 text NOT NULL CHECK (mode IN ('LOW_LATENCY', 'STANDARD')),
    status               text NOT NULL DEFAULT 'IDLE' CHECK (status IN ('IDLE', 'LIVE', 'RECONNECTING', 'ENDED')),
    key_hash             bytea NOT NULL,
    key_last4            text NOT NULL,
    project_id           text,
    reconnect_window_sec integer NOT NULL DEFAULT 0 CHECK (reconnect_window_sec BETWEEN 0 AND 1800),
    recording_enabled    boolean NOT NULL DEFAULT false,
    -- The connection that publishes now, also before the stream is playable.
    publisher_id         text,
    started_at           timestamptz,
    ended_at             timestamptz,
    -- RECONNECTING only: time at which the broadcast ends if no publisher reconnects.
    reconnect_until      timestamptz,
    -- After a forced stop the stream key is refused until this time.
    blocked_until        timestamptz,
    -- Reason for which the server disconnected the last accepted publisher, such as an unsupported codec.
    rejected_reason      text,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
);
CREATE UNIQUE INDEX streams_key_hash_key ON streams (key_hash);
CREATE INDEX streams_tenant_idx ON streams (tenant_id, id DESC);

-- One row for each accepted publishing connection. The id makes repeated and
-- reordered reports harmless: a row that has ended never becomes active again.
CREATE TABLE publishers (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants (id),
    stream_id   text NOT NULL REFERENCES streams (id),
    source      text NOT NULL CHECK (source IN ('rtmp', 'srs')),
    -- The server process that holds the connection, for RTMP.
    node        text NOT NULL,
    remote_ip   text NOT NULL,
    accepted_at timestamptz NOT NULL,
    live_at     timestamptz,
    ended_at    timestamptz
);
CREATE INDEX publishers_open_idx ON publishers (node, source) WHERE ended_at IS NULL;
CREATE INDEX publishers_stream_idx ON publishers (stream_id) WHERE ended_at IS NULL;
CREATE INDEX publishers_ended_idx ON publishers (ended_at);

-- Server processes that hold connections, each with the time of its last heartbeat.
CREATE TABLE nodes (
    id      text PRIMARY KEY,
    seen_at timestamptz NOT NULL
);

-- Players on SRS servers, one row per connection.
CREATE TABLE plays (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    stream_id  text NOT NULL REFERENCES streams (id),
    started_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX plays_open_idx ON plays (stream_id) WHERE ended_at IS NULL;
CREATE INDEX plays_ended_idx ON plays (ended_at);

-- Files that SRS servers recorded.
CREATE TABLE dvr_files (
    id           text PRIMARY KEY,
    tenant_id    text NOT NULL REFERENCES tenants (id),
    stream_id    text NOT NULL REFERENCES streams (id),
    publisher_id text NOT NULL,
    cwd          text NOT NULL,
    file         text NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX dvr_files_key ON dvr_files (publisher_id, file);
