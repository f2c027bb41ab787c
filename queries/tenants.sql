-- name: CreateTenant :one
INSERT INTO tenants (id, name, created_at, updated_at) VALUES (@id, @name, @now, @now) RETURNING *;

-- name: GetTenant :one
SELECT * FROM tenants WHERE id = @id;

-- name: SetTenantStatus :one
UPDATE tenants SET status = @status, updated_at = @now WHERE id = @id RETURNING *;
