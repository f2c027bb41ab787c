-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Media jobs make files of recordings. The files are in the recording's folder.
CREATE TABLE media_jobs (
    id text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants (id),
    kind text NOT NULL CHECK (kind IN ('transcode', 'package')),
    recording_id text NOT NULL REFERENCES recordings (id),
    -- The transcode whose files a package has.
    source_id text REFERENCES media_jobs (id) CHECK ((source_id IS NOT NULL) = (kind = 'package')),
    -- A program outside of this server does the job, and reports on it.
    outside boolean NOT NULL,
    status text NOT NULL CHECK (status IN ('QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED')),
    -- Percent.
    progress smallint NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 100),
    -- The request, and the files that are stored. Both are types of the package for the kind.
    spec jsonb NOT NULL,
    outputs jsonb NOT NULL DEFAULT '[]',
    -- The bytes of all files of a COMPLETED job.
    size_bytes bigint NOT NULL DEFAULT 0 CHECK (size_bytes >= 0),
    error text,
    -- The process that works on it while it is RUNNING, its last heartbeat or the outside program's last report, the start of the last attempt, and the number of attempts that
    -- count.
    node text NOT NULL DEFAULT '',
    seen_at timestamptz,
    claimed_at timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    -- A QUEUED job is not started before.
    due_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX media_jobs_unfinished_idx ON media_jobs (kind, status, tenant_id, id) WHERE status IN ('QUEUED', 'RUNNING');
CREATE INDEX media_jobs_claimed_idx ON media_jobs (kind, tenant_id, claimed_at);
CREATE INDEX media_jobs_recording_idx ON media_jobs (recording_id) WHERE status = 'COMPLETED';
