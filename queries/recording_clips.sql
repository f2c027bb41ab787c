-- name: CreateClip :one
-- The source is locked.
INSERT INTO recordings (id, tenant_id, stream_id, source, name, status, broadcast_at, started_at, ended_at, node, wanted_at, metadata,
    clip_of, clip_from_ms, clip_to_ms, created_at, updated_at)
VALUES (@id, @tenant_id, @stream_id::text, 'builtin', @name, 'PROCESSING', @broadcast_at, @started_at, @ended_at::timestamptz, '', @now, @metadata,
    @clip_of::text, @clip_from_ms::bigint, @clip_to_ms::bigint, @now, @now) RETURNING *;

-- name: LockClips :exec
-- @sqlc-vet-disable tenant
-- The key of the advisory lock names the tenant.
-- Waits until no other transaction counts the tenant's clips. Count in a further statement, which sees what those have committed.
SELECT pg_advisory_xact_lock(hashtextextended('clips ' || @tenant_id::text, 0));

-- name: CountUnfinishedClips :one
-- The caller has called LockClips.
SELECT count(*) FROM recordings WHERE tenant_id = @tenant_id AND status = 'PROCESSING' AND clip_of IS NOT NULL;

-- name: ListUnfinishedClips :many
-- @sqlc-vet-disable tenant
-- Clips of all tenants that are being made.
SELECT id FROM recordings WHERE status = 'PROCESSING' AND clip_of IS NOT NULL ORDER BY id;

-- name: SetClip :exec
-- The row is locked.
UPDATE recordings SET clip_from_ms = @from_ms::bigint, clip_to_ms = @to_ms::bigint, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;
