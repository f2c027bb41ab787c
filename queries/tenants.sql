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
UPDATE tenants SET name = @name, logo_url = sqlc.narg('logo_url'), primary_color = sqlc.narg('primary_color'), accent_color = sqlc.narg('accent_color'),
    embed_origins = @embed_origins, updated_at = @now WHERE id = @id RETURNING *;

-- name: CountTenants :one
-- @sqlc-vet-disable tenant
-- For the platform's operators. The key is the status and the plan.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c
WHERE c.scope = 'tenants' AND (sqlc.narg('status')::text IS NULL OR split_part(c.key, '/', 1) = sqlc.narg('status'))
  AND (sqlc.narg('plan')::text IS NULL OR split_part(c.key, '/', 2) = sqlc.narg('plan'));

-- name: CountTenantsByPlan :many
-- @sqlc-vet-disable tenant
-- For the platform's operators: all tenants, and those that are not CANCELLED.
SELECT split_part(c.key, '/', 2)::text AS plan, coalesce(sum(c.n), 0)::bigint AS tenants,
    coalesce(sum(c.n) FILTER (WHERE split_part(c.key, '/', 1) <> 'CANCELLED'), 0)::bigint AS current
FROM row_numbers c WHERE c.scope = 'tenants' GROUP BY 1;

-- name: CountFoundTenants :one
-- @sqlc-vet-disable tenant
-- For the platform's operators. Each part of the UNION has an index of its own for the pattern, if the extension pg_trgm is there.
WITH found AS (
    SELECT f.id FROM tenants f WHERE f.name ILIKE @q OR f.id ILIKE @q
    UNION SELECT u.tenant_id FROM users u WHERE u.email ILIKE @q
    UNION SELECT i.tenant_id FROM invitations i WHERE i.email ILIKE @q
)
SELECT count(*) FROM found JOIN tenants t ON t.id = found.id
WHERE (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')) AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'));

-- name: FindTenants :many
-- @sqlc-vet-disable tenant
-- For the platform's operators, who search as in CountFoundTenants. Newest first.
WITH found AS (
    SELECT f.id FROM tenants f WHERE f.name ILIKE @q OR f.id ILIKE @q
    UNION SELECT u.tenant_id FROM users u WHERE u.email ILIKE @q
    UNION SELECT i.tenant_id FROM invitations i WHERE i.email ILIKE @q
)
SELECT t.id FROM found JOIN tenants t ON t.id = found.id
WHERE (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')) AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'))
ORDER BY t.created_at DESC, t.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestTenants :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Reads the index only.
SELECT t.id FROM tenants t
WHERE (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')) AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'))
ORDER BY t.created_at DESC, t.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestTenants :many
-- @sqlc-vet-disable tenant
-- As ListNewestTenants, from the other end, for pages in the second half.
SELECT t.id FROM tenants t
WHERE (sqlc.narg('status')::text IS NULL OR t.status = sqlc.narg('status')) AND (sqlc.narg('plan')::text IS NULL OR t.plan = sqlc.narg('plan'))
ORDER BY t.created_at, t.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListTenantSummaries :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants. Newest first.
SELECT sqlc.embed(t), (SELECT coalesce(sum(c.n), 0) FROM row_numbers c WHERE c.scope = 'team' AND c.key = t.id)::bigint AS users,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams
FROM tenants t WHERE t.id = ANY (@ids::text[]) ORDER BY t.created_at DESC, t.id DESC;

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

-- name: SetStatusBeforeSuspension :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant, which is suspended.
UPDATE tenants SET status_before_suspension = @status, updated_at = @now WHERE id = @id AND status = 'SUSPENDED';

-- name: CountTenantsByPlanAndStatus :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. The key is the status and the plan.
SELECT split_part(c.key, '/', 2)::text AS plan, split_part(c.key, '/', 1)::text AS status, sum(c.n)::bigint AS n
FROM row_numbers c WHERE c.scope = 'tenants' GROUP BY 1, 2;
