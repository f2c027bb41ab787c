-- name: CreateTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
INSERT INTO tenants (id, name, created_at, updated_at) VALUES (@id, @name, @now, @now) RETURNING *;

-- name: GetTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
SELECT * FROM tenants WHERE id = @id;

-- name: SetTenantStatus :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET status = @status, updated_at = @now WHERE id = @id RETURNING *;

-- name: LockTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant. The lock allows others to write rows that refer to the tenant; otherwise
-- a transaction that already holds one of its rows would deadlock with this one.
SELECT * FROM tenants WHERE id = @id FOR NO KEY UPDATE;

-- name: UpdateTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET name = coalesce(sqlc.narg('name')::text, name), updated_at = @now WHERE id = @id RETURNING *;

-- name: CountTenants :one
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT count(*) FROM tenants t
WHERE (sqlc.narg('q')::text IS NULL OR t.name ILIKE sqlc.narg('q') OR t.id ILIKE sqlc.narg('q')
       OR EXISTS (SELECT 1 FROM team_members u WHERE u.tenant_id = t.id AND u.email ILIKE sqlc.narg('q')))
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status'))
  AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'));

-- name: ListTenants :many
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT sqlc.embed(t), (SELECT count(*) FROM team_members u WHERE u.tenant_id = t.id) AS users,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams
FROM tenants t
WHERE (sqlc.narg('q')::text IS NULL OR t.name ILIKE sqlc.narg('q') OR t.id ILIKE sqlc.narg('q')
       OR EXISTS (SELECT 1 FROM team_members u WHERE u.tenant_id = t.id AND u.email ILIKE sqlc.narg('q')))
  AND (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status'))
  AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'))
ORDER BY t.created_at DESC, t.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: GetTenantSummary :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
SELECT sqlc.embed(t), (SELECT count(*) FROM team_members u WHERE u.tenant_id = t.id) AS users,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams
FROM tenants t WHERE t.id = @id;

-- name: SuspendTenant :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET status_before_suspension = status, status = 'SUSPENDED', suspended_at = @now::timestamptz, suspension_reason = @reason, updated_at = @now::timestamptz
WHERE id = @id;

-- name: UnsuspendTenant :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET status = @status, status_before_suspension = NULL, suspended_at = NULL, suspension_reason = NULL, updated_at = @now
WHERE id = @id;

-- name: SetTenantPlan :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET plan = @plan, updated_at = @now WHERE id = @id;

-- name: ShareTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant. The tenant's suspension waits until the object that is being created exists, and then ends it.
SELECT status FROM tenants WHERE id = @id FOR SHARE;
