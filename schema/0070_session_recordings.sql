-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Recordings of sessions. A recording is of a stream or of a session.
ALTER TABLE recordings
    ALTER COLUMN stream_id DROP NOT NULL,
    -- It may have been deleted since.
    ADD COLUMN session_id text,
    -- The session's project; NULL for a stream's recording.
    ADD COLUMN project_id text,
    -- How participants are arranged: grid, speaker, sidebar or composite; NULL for a stream's recording.
    ADD COLUMN layout text CHECK (layout IN ('grid', 'speaker', 'sidebar', 'composite')),
    DROP CONSTRAINT recordings_source_check,
    -- session: composed of the parts that the nodes of the session's room have written.
    ADD CONSTRAINT recordings_source_check CHECK (source IN ('builtin', 'external', 'srs', 'session')) NOT VALID,
    ADD CONSTRAINT recordings_room_check
        CHECK ((stream_id IS NULL) = (source = 'session') AND (session_id IS NULL) = (source <> 'session')
            AND (layout IS NULL) = (source <> 'session')) NOT VALID;

-- The recording that is being made of a session.
ALTER TABLE sessions ADD COLUMN recording_id text;

-- A part is the media of a session's room that one node has written to its disk without an interruption. That node composes it to the
-- take with the same number.
CREATE TABLE recording_parts (
    recording_id text NOT NULL REFERENCES recordings (id),
    part         integer NOT NULL CHECK (part > 0),
    tenant_id    text NOT NULL,
    node         text NOT NULL,
    opened_at    timestamptz NOT NULL,
    -- The node's last heartbeat.
    seen_at      timestamptz NOT NULL,
    -- When the room ended it.
    closed_at    timestamptz,
    -- Start of the last attempt to compose it, the number of attempts that count, and the time before which the next one doesn't start.
    claimed_at   timestamptz,
    attempt      integer NOT NULL DEFAULT 0,
    due_at       timestamptz NOT NULL,
    -- When it was composed, or ended without a take.
    finished_at  timestamptz,
    -- Why it is incomplete, or has no take.
    reason       text,
    PRIMARY KEY (recording_id, part)
);
CREATE INDEX recording_parts_unfinished_idx ON recording_parts (node) WHERE finished_at IS NULL;
CREATE INDEX recording_parts_claimed_idx ON recording_parts (node, tenant_id, claimed_at);
