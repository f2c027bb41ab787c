-- name: CountAdmins :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT count(*) FROM admins;

-- name: CreateAdmin :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
INSERT INTO admins (id, email, password_hash, role, created_at, updated_at)
VALUES (@id, @email, @password_hash, @role, @now, @now) RETURNING *;
