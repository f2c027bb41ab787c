-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Transcodes make renditions of recordings. The files are in the recording's folder.
CREATE TABLE transcodes (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants (id),
    recording_id text NOT NULL REFERENCES recordings (id),
    status text NOT NULL CHECK (status IN ('QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED')),
    -- Percent.
    progress smallint NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    container text NOT NULL CHECK (container IN ('MP4', 'MPEG_TS')),
    -- The requested files, and those that are stored. Both are types of the package transcode.
    renditions jsonb NOT NULL,
    outputs jsonb NOT NULL DEFAULT '[]',
    error text,
    -- The process that works on it while it is RUNNING, its last heartbeat, the start of the last attempt, and the number of attempts that
    -- count.
    node text NOT NULL DEFAULT '',
    seen_at timestamptz,
    claimed_at timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    -- A QUEUED transcode is not started before.
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX transcodes_unfinished_idx ON transcodes (status, tenant_id, id) WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX transcodes_claimed_idx ON transcodes (tenant_id, claimed_at);
CREATE INDEX transcodes_recording_idx ON transcodes (recording_id) WHERE status = 'COMPLETED';
