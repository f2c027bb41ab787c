-- name: CreateUser :one
INSERT INTO users (id, tenant_id, email, name, password_hash, role, created_at, updated_at)
VALUES (@id, @tenant_id, @email, @name, @password_hash, @role, @now, @now) RETURNING *;

-- name: GetUserByEmail :one
-- @sqlc-vet-disable tenant
-- Login knows no tenant yet.
SELECT * FROM users WHERE email = @email;

-- name: GetUser :one
SELECT * FROM users WHERE tenant_id = @tenant_id AND id = @id;

-- name: GetUserForToken :one
-- The columns that decide whether a token is still valid, with those of its sign-in. The token of an earlier release has none.
SELECT u.token_version, u.role, u.status, t.status AS tenant_status, s.last_seen_at
FROM users u JOIN tenants t ON t.id = u.tenant_id LEFT JOIN sign_ins s ON s.holder_id = u.id AND s.id = @sign_in_id
WHERE u.tenant_id = @tenant_id AND u.id = @id;

-- name: RecordLogin :one
-- No row when the password or the role was changed, or the user deactivated or removed, meanwhile.
UPDATE users SET last_login_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND token_version = @token_version AND status = 'ACTIVE' RETURNING *;

-- name: LockUser :one
SELECT * FROM users WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: CountActiveOwners :one
SELECT count(*) FROM users WHERE tenant_id = @tenant_id AND role = 'OWNER' AND status = 'ACTIVE';

-- name: ListActiveOwners :many
SELECT * FROM users WHERE tenant_id = @tenant_id AND role = 'OWNER' AND status = 'ACTIVE' ORDER BY id;

-- name: ListAdministrators :many
-- The active owners and administrators, for notices.
SELECT * FROM users WHERE tenant_id = @tenant_id AND role IN ('OWNER', 'ADMIN') AND status = 'ACTIVE' ORDER BY id LIMIT @max_rows;

-- name: SetUserRole :one
-- Ends the user's tokens, which carry the old role.
UPDATE users SET role = @role, token_version = token_version + 1, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetUserPassword :one
-- Ends the user's tokens.
UPDATE users SET password_hash = @password_hash, token_version = token_version + 1, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: EndUserTokens :one
-- Ends the user's tokens.
UPDATE users SET token_version = token_version + 1, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: DeleteUser :exec
DELETE FROM users WHERE tenant_id = @tenant_id AND id = @id;

-- name: CountPlatformUsers :one
-- @sqlc-vet-disable tenant
-- For the platform's operators. The count of all tenants has the key ''.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c WHERE c.scope = 'team' AND c.key = coalesce(sqlc.narg('tenant_id')::text, '');

-- name: CountFoundUsers :one
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT count(*) FROM team_members u
WHERE (u.email ILIKE @q OR u.name ILIKE @q OR u.id ILIKE @q)
  AND (sqlc.narg('tenant_id')::text IS NULL OR u.tenant_id = sqlc.narg('tenant_id'));

-- name: ListNewestUsers :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Reads the indexes only, unless there is a q.
SELECT u.id FROM team_members u
WHERE (sqlc.narg('q')::text IS NULL OR u.email ILIKE sqlc.narg('q') OR u.name ILIKE sqlc.narg('q') OR u.id ILIKE sqlc.narg('q'))
  AND (sqlc.narg('tenant_id')::text IS NULL OR u.tenant_id = sqlc.narg('tenant_id'))
ORDER BY u.created_at DESC, u.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestUsers :many
-- @sqlc-vet-disable tenant
-- As ListNewestUsers, from the other end, for pages in the second half.
SELECT u.id FROM team_members u
WHERE (sqlc.narg('tenant_id')::text IS NULL OR u.tenant_id = sqlc.narg('tenant_id'))
ORDER BY u.created_at, u.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListPlatformUsers :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Newest first.
SELECT sqlc.embed(u), t.name AS tenant_name FROM team_members u JOIN tenants t ON t.id = u.tenant_id
WHERE u.id = ANY (@ids::text[]) ORDER BY u.created_at DESC, u.id DESC;

-- name: GetPlatformUser :one
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT sqlc.embed(u), t.name AS tenant_name FROM team_members u JOIN tenants t ON t.id = u.tenant_id WHERE u.id = @id;

-- name: SetUserStatus :exec
-- Ends the user's tokens, including those from before a deactivation.
UPDATE users SET status = @status, token_version = token_version + 1, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id;
