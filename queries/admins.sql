-- name: CountAdmins :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT count(*) FROM admins;

-- name: CountOtherSuperAdmins :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT count(*) FROM admins WHERE role = 'SUPER_ADMIN' AND id <> @id;

-- name: CreateAdmin :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
INSERT INTO admins (id, email, password_hash, role, created_at, updated_at)
VALUES (@id, @email, @password_hash, @role, @now, @now) RETURNING *;

-- name: ListAdmins :many
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT * FROM admins ORDER BY created_at, id;

-- name: GetAdmin :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT * FROM admins WHERE id = @id;

-- name: GetAdminForToken :one
-- @sqlc-vet-disable tenant
-- As GetUserForToken.
SELECT a.token_version, a.role, a.email, s.last_seen_at
FROM admins a LEFT JOIN sign_ins s ON s.holder_id = a.id AND s.id = @sign_in_id
WHERE a.id = @id;

-- name: GetAdminByEmail :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT * FROM admins WHERE email = @email;

-- name: RecordAdminLogin :one
-- @sqlc-vet-disable tenant
-- No row when the password was changed or the admin removed meanwhile.
UPDATE admins SET last_login_at = @now WHERE id = @id AND token_version = @token_version RETURNING *;

-- name: SetAdminPassword :one
-- @sqlc-vet-disable tenant
-- Also ends the admin's tokens.
UPDATE admins SET password_hash = @password_hash, token_version = token_version + 1, updated_at = @now
WHERE id = @id RETURNING *;

-- name: LockAdmin :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
SELECT * FROM admins WHERE id = @id FOR UPDATE;

-- name: EndAdminTokens :one
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
UPDATE admins SET token_version = token_version + 1, updated_at = @now WHERE id = @id RETURNING *;

-- name: DeleteAdmin :exec
-- @sqlc-vet-disable tenant
-- Admins belong to no tenant.
DELETE FROM admins WHERE id = @id;
