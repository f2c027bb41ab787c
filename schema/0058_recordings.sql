-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the foreign keys; Migrate repeats it

-- Recordings of streams: one row for each recorded broadcast, or part of one.
CREATE TABLE recordings (
    id                text PRIMARY KEY,
    tenant_id         text NOT NULL REFERENCES tenants (id),
    stream_id         text NOT NULL REFERENCES streams (id),
    -- builtin: recorded by the stream's node. external: by an outside recorder, which reports the result. srs: a file of an
    -- SRS server.
    source            text NOT NULL CHECK (source IN ('builtin', 'external', 'srs')),
    name              text,
    status            text NOT NULL CHECK (status IN ('RECORDING', 'PROCESSING', 'READY', 'FAILED', 'DELETED')),
    -- Start of the broadcast.
    broadcast_at      timestamptz NOT NULL,
    -- Time of the first frame; before the first segment is stored, the time at which the recording was requested.
    started_at        timestamptz NOT NULL,
    ended_at          timestamptz,
    duration_ms       bigint CHECK (duration_ms >= 0),
    size_bytes        bigint CHECK (size_bytes >= 0),
    -- Why a READY recording is not complete.
    incomplete_reason text,
    -- Why a recording FAILED.
    error             text,
    -- The playlist of an outside recorder.
    playlist_url      text,
    -- Number of the last take.
    takes             integer NOT NULL DEFAULT 0,
    -- The node that should record now; '' for an outside recorder.
    node              text NOT NULL,
    -- Time since which that node should record: the start, or the last time that the broadcast went on.
    wanted_at         timestamptz NOT NULL,
    -- The pinned products, as in the API. Written when the recording becomes READY.
    product_timeline  jsonb NOT NULL DEFAULT '[]',
    retain_until      timestamptz,
    legal_hold        boolean NOT NULL DEFAULT false,
    deleted_at        timestamptz,
    deleted_reason    text,
    files_deleted_at  timestamptz,
    metadata          jsonb NOT NULL DEFAULT '{}',
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL
);
CREATE UNIQUE INDEX recordings_active_key ON recordings (stream_id) WHERE status = 'RECORDING';
-- Recordings that the sweep reads.
CREATE INDEX recordings_unfinished_idx ON recordings (status, node) WHERE status IN ('RECORDING', 'PROCESSING');
CREATE INDEX recordings_undeleted_files_idx ON recordings (deleted_at) WHERE status = 'DELETED' AND files_deleted_at IS NULL;
CREATE INDEX recordings_retention_idx ON recordings (retain_until) WHERE status IN ('READY', 'FAILED') AND NOT legal_hold;
CREATE INDEX recordings_tenant_idx ON recordings (tenant_id, id DESC);
CREATE INDEX recordings_stream_idx ON recordings (stream_id, id DESC);
CREATE INDEX recordings_page_idx ON recordings (created_at DESC, id DESC) INCLUDE (tenant_id, status);

-- A take is the uninterrupted work of one process on a recording. A process that continues the recording opens the next one.
CREATE TABLE recording_takes (
    recording_id text NOT NULL REFERENCES recordings (id),
    take         integer NOT NULL,
    tenant_id    text NOT NULL,
    node         text NOT NULL,
    opened_at    timestamptz NOT NULL,
    -- Time of the last heartbeat.
    seen_at      timestamptz NOT NULL,
    closed_at    timestamptz,
    -- Why the take is not complete; NULL if it is.
    reason       text,
    PRIMARY KEY (recording_id, take)
) WITH (fillfactor = 50);
CREATE INDEX recording_takes_open_idx ON recording_takes (node) WHERE closed_at IS NULL;

-- An initialization section of each track. It changes with the encoder's settings.
CREATE TABLE recording_inits (
    recording_id text NOT NULL,
    take         integer NOT NULL,
    init         integer NOT NULL,
    tenant_id    text NOT NULL,
    -- RFC 6381, such as avc1.64001f,mp4a.40.2.
    codecs       text NOT NULL,
    width        integer NOT NULL,
    height       integer NOT NULL,
    frame_rate   double precision NOT NULL,
    -- Sizes of the files; 0 if there is no such track.
    video_bytes  bigint NOT NULL,
    audio_bytes  bigint NOT NULL,
    PRIMARY KEY (recording_id, take, init)
);

-- A segment is 4 to 6 seconds of a take: a file of each track.
CREATE TABLE recording_segments (
    recording_id  text NOT NULL,
    take          integer NOT NULL,
    seq           integer NOT NULL,
    tenant_id     text NOT NULL,
    init          integer NOT NULL,
    discontinuity boolean NOT NULL,
    -- Time of the first frame.
    started_at    timestamptz NOT NULL,
    -- Duration on the common timeline, and the sum of the samples' durations of each track, in microseconds.
    duration_us   bigint NOT NULL CHECK (duration_us >= 0),
    video_us      bigint NOT NULL,
    audio_us      bigint NOT NULL,
    video_bytes   bigint NOT NULL,
    audio_bytes   bigint NOT NULL,
    PRIMARY KEY (recording_id, take, seq)
);
