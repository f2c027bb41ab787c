-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- The last broadcast of each session into a stream. Changed under the session's lock, except for seen_at and node.
CREATE TABLE session_broadcasts (
    session_id text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    -- Differs for each broadcast.
    id         text NOT NULL UNIQUE,
    stream_id  text NOT NULL,
    state      text NOT NULL CHECK (state IN ('starting', 'live', 'ended')),
    -- The server process that encodes it, or that the room is expected at.
    node       text NOT NULL,
    -- The last heartbeat of that process; the time of the request before the first one.
    seen_at    timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at   timestamptz,
    -- Why it ended.
    reason     text CHECK ((reason IS NULL) = (state <> 'ended'))
);
CREATE UNIQUE INDEX session_broadcasts_stream_idx ON session_broadcasts (stream_id) WHERE state <> 'ended';
CREATE INDEX session_broadcasts_running_idx ON session_broadcasts (node) WHERE state <> 'ended';

ALTER TABLE publishers
    DROP CONSTRAINT publishers_source_check,
    -- session: the broadcast of a session.
    ADD CONSTRAINT publishers_source_check CHECK (source IN ('rtmp', 'srs', 'webrtc', 'session')) NOT VALID;
