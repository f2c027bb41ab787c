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
-- The id is the tenant.
SELECT * FROM tenants WHERE id = @id FOR UPDATE;

-- name: UpdateTenant :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET name = coalesce(sqlc.narg('name')::text, name), updated_at = @now WHERE id = @id RETURNING *;
