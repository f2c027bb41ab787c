-- name: CreateMediaJob :one
INSERT INTO media_jobs (id, tenant_id, kind, recording_id, source_id, outside, status, spec, due_at, created_at, updated_at)
VALUES (@id, @tenant_id, @kind, @recording_id, sqlc.narg('source_id'), @outside, 'QUEUED', @spec, @now, @now, @now) RETURNING *;

-- name: LockMediaJobs :exec
-- @sqlc-vet-disable tenant
-- The key of the advisory lock names the tenant.
-- Waits until no other transaction counts the tenant's jobs. Count in a further statement, which sees what those have committed.
SELECT pg_advisory_xact_lock(hashtextextended('media jobs ' || @tenant_id::text, 0));

-- name: CountUnfinishedMediaJobs :one
-- The caller has called LockMediaJobs.
SELECT count(*) FROM media_jobs WHERE tenant_id = @tenant_id AND kind = @kind AND status IN ('QUEUED', 'RUNNING');

-- name: GetMediaJob :one
SELECT * FROM media_jobs WHERE tenant_id = @tenant_id AND kind = @kind AND id = @id;

-- name: ListMediaJobsOfRecording :many
SELECT * FROM media_jobs
WHERE tenant_id = @tenant_id AND recording_id = @recording_id AND kind = @kind
    AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: LockMediaJobOfTenant :one
SELECT * FROM media_jobs WHERE tenant_id = @tenant_id AND kind = @kind AND id = @id FOR UPDATE;

-- name: LockMediaJob :one
-- @sqlc-vet-disable tenant
-- Workers know only the job's id.
SELECT * FROM media_jobs WHERE id = @id FOR UPDATE;

-- name: ClaimMediaJob :one
-- @sqlc-vet-disable tenant
-- Starts the oldest QUEUED job of a kind, of the tenant with the fewest RUNNING ones; among several tenants, of the one whose last start is
-- longest ago. A second is more than the clocks of two nodes differ by.
WITH next AS (
    SELECT q.id FROM media_jobs q
    WHERE q.kind = @kind AND q.status = 'QUEUED' AND NOT q.outside AND q.due_at - interval '1 second' <= @now::timestamptz
    ORDER BY (SELECT count(*) FROM media_jobs r WHERE r.kind = @kind AND r.status = 'RUNNING' AND r.tenant_id = q.tenant_id),
        (SELECT max(l.claimed_at) FROM media_jobs l WHERE l.kind = @kind AND l.tenant_id = q.tenant_id) NULLS FIRST, q.id
    LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE media_jobs t
SET status = 'RUNNING', node = @node::text, seen_at = @now::timestamptz, claimed_at = @now::timestamptz, attempt = t.attempt + 1,
    started_at = coalesce(t.started_at, @now::timestamptz), updated_at = @now::timestamptz
FROM next WHERE t.id = next.id RETURNING t.*;

-- name: BeatMediaJob :execrows
-- @sqlc-vet-disable tenant
-- Workers know only the job's id. No row means that the attempt is over: the job was cancelled, or another worker has it.
UPDATE media_jobs
SET seen_at = @now::timestamptz, progress = greatest(progress, @progress::smallint),
    updated_at = CASE WHEN @progress::smallint > progress THEN @now::timestamptz ELSE updated_at END
WHERE id = @id AND attempt = @attempt AND status = 'RUNNING';

-- name: SetMediaJobOutputs :execrows
-- @sqlc-vet-disable tenant
-- As BeatMediaJob.
UPDATE media_jobs SET outputs = @outputs, size_bytes = @size_bytes, updated_at = @now WHERE id = @id AND attempt = @attempt AND status = 'RUNNING';

-- name: RequeueMediaJob :exec
-- @sqlc-vet-disable tenant
-- The row is locked. Uncounted attempts are those that end because the process stops.
UPDATE media_jobs
SET status = 'QUEUED', node = '', seen_at = NULL, due_at = @due_at, attempt = attempt - @uncounted::integer, updated_at = @now
WHERE id = @id;

-- name: FinishMediaJob :one
-- @sqlc-vet-disable tenant
-- The row is locked.
UPDATE media_jobs
SET status = @status::text, progress = CASE WHEN @status::text = 'COMPLETED' THEN 100 ELSE progress END, error = sqlc.narg('error'), node = '', seen_at = NULL,
    finished_at = @now::timestamptz, updated_at = @now::timestamptz
WHERE id = @id RETURNING *;

-- name: HasUnfinishedMediaJobs :one
-- @sqlc-vet-disable tenant
-- Whether any tenant has a job that is not over.
SELECT EXISTS (SELECT FROM media_jobs WHERE status IN ('QUEUED', 'RUNNING'));

-- name: ListStrandedMediaJobs :many
-- @sqlc-vet-disable tenant
-- The RUNNING jobs of all tenants whose worker sends no heartbeats.
SELECT id, attempt FROM media_jobs WHERE status = 'RUNNING' AND NOT outside AND seen_at < @before::timestamptz ORDER BY id;

-- name: ListMediaJobsOfNode :many
-- @sqlc-vet-disable tenant
-- A node works for all tenants.
SELECT id, attempt FROM media_jobs WHERE status = 'RUNNING' AND node = @node ORDER BY id;

-- name: ListForgottenMediaJobs :many
-- @sqlc-vet-disable tenant
-- The kinds of which jobs are due since before: the runs that start them may be lost.
SELECT DISTINCT kind FROM media_jobs WHERE status = 'QUEUED' AND NOT outside AND due_at < @before::timestamptz;

-- name: FindMediaJob :one
-- @sqlc-vet-disable tenant
-- Workers know only the job's id.
SELECT * FROM media_jobs WHERE id = @id;

-- name: ReportMediaJob :exec
-- @sqlc-vet-disable tenant
-- The row is locked, and the job is not over. An outside program knows only the job's id.
UPDATE media_jobs
SET status = 'RUNNING', progress = @progress::smallint, outputs = coalesce(sqlc.narg('outputs')::jsonb, outputs), size_bytes = @size_bytes,
    seen_at = @now::timestamptz, started_at = coalesce(started_at, @now::timestamptz), updated_at = @now::timestamptz
WHERE id = @id;

-- name: ListSilentMediaJobs :many
-- @sqlc-vet-disable tenant
-- The unfinished jobs of all outside programs that haven't reported since before.
SELECT id FROM media_jobs
WHERE outside AND status IN ('QUEUED', 'RUNNING') AND coalesce(seen_at, created_at) < @before::timestamptz ORDER BY id;
