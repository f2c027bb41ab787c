-- name: CreateTranscode :one
INSERT INTO transcodes (id, tenant_id, recording_id, status, container, renditions, due_at, created_at, updated_at)
VALUES (@id, @tenant_id, @recording_id, 'QUEUED', @container, @renditions, @now, @now, @now) RETURNING *;

-- name: LockTranscodes :exec
-- @sqlc-vet-disable tenant
-- The key of the advisory lock names the tenant.
-- Waits until no other transaction counts the tenant's jobs. Count in a further statement, which sees what those have committed.
SELECT pg_advisory_xact_lock(hashtextextended('transcodes ' || @tenant_id::text, 0));

-- name: CountUnfinishedTranscodes :one
-- The caller has called LockTranscodes.
SELECT count(*) FROM transcodes WHERE tenant_id = @tenant_id AND status IN ('QUEUED', 'RUNNING');

-- name: GetTranscode :one
SELECT * FROM transcodes WHERE tenant_id = @tenant_id AND id = @id;

-- name: LockTranscodeOfTenant :one
SELECT * FROM transcodes WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: LockTranscode :one
-- @sqlc-vet-disable tenant
-- Workers know only the transcode's id.
SELECT * FROM transcodes WHERE id = @id FOR UPDATE;

-- name: ClaimTranscode :one
-- @sqlc-vet-disable tenant
-- Starts the oldest QUEUED transcode of the tenant with the fewest RUNNING ones; among several tenants, of the one whose last start is
-- longest ago. A second is more than the clocks of two nodes differ by.
WITH next AS (
    SELECT q.id FROM transcodes q
    WHERE q.status = 'QUEUED' AND q.due_at - interval '1 second' <= @now::timestamptz
    ORDER BY (SELECT count(*) FROM transcodes r WHERE r.status = 'RUNNING' AND r.tenant_id = q.tenant_id),
        (SELECT max(l.claimed_at) FROM transcodes l WHERE l.tenant_id = q.tenant_id) NULLS FIRST, q.id
    LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE transcodes t
SET status = 'RUNNING', node = @node::text, seen_at = @now::timestamptz, claimed_at = @now::timestamptz, attempt = t.attempt + 1,
    started_at = coalesce(t.started_at, @now::timestamptz), updated_at = @now::timestamptz
FROM next WHERE t.id = next.id RETURNING t.*;

-- name: BeatTranscode :execrows
-- @sqlc-vet-disable tenant
-- Workers know only the transcode's id. No row means that the attempt is over: the transcode was cancelled, or another worker has it.
UPDATE transcodes
SET seen_at = @now::timestamptz, progress = greatest(progress, @progress::smallint),
    updated_at = CASE WHEN @progress::smallint > progress THEN @now::timestamptz ELSE updated_at END
WHERE id = @id AND attempt = @attempt AND status = 'RUNNING';

-- name: SetTranscodeOutputs :execrows
-- @sqlc-vet-disable tenant
-- As BeatTranscode.
UPDATE transcodes SET outputs = @outputs, updated_at = @now WHERE id = @id AND attempt = @attempt AND status = 'RUNNING';

-- name: RequeueTranscode :exec
-- @sqlc-vet-disable tenant
-- The row is locked. Uncounted attempts are those that end because the process stops.
UPDATE transcodes
SET status = 'QUEUED', node = '', seen_at = NULL, due_at = @due_at, attempt = attempt - @uncounted::integer, updated_at = @now
WHERE id = @id;

-- name: FinishTranscode :one
-- @sqlc-vet-disable tenant
-- The row is locked.
UPDATE transcodes
SET status = @status::text, progress = CASE WHEN @status::text = 'COMPLETED' THEN 100 ELSE progress END, error = sqlc.narg('error'), node = '', seen_at = NULL,
    finished_at = @now::timestamptz, updated_at = @now::timestamptz
WHERE id = @id RETURNING *;

-- name: ListStrandedTranscodes :many
-- @sqlc-vet-disable tenant
-- The RUNNING transcodes of all tenants whose worker sends no heartbeats.
SELECT id, attempt FROM transcodes WHERE status = 'RUNNING' AND seen_at < @before::timestamptz ORDER BY id;

-- name: ListTranscodesOfNode :many
-- @sqlc-vet-disable tenant
-- A node works for all tenants.
SELECT id, attempt FROM transcodes WHERE status = 'RUNNING' AND node = @node ORDER BY id;

-- name: HasForgottenTranscodes :one
-- @sqlc-vet-disable tenant
-- Whether transcodes are due since before: the jobs that start them may be lost.
SELECT EXISTS (SELECT FROM transcodes WHERE status = 'QUEUED' AND due_at < @before::timestamptz);

-- name: FindTranscode :one
-- @sqlc-vet-disable tenant
-- Workers know only the transcode's id.
SELECT * FROM transcodes WHERE id = @id;
