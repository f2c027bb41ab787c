-- name: GetPasswordLink :one
SELECT * FROM password_links WHERE tenant_id = @tenant_id AND user_id = @user_id;

-- name: PutPasswordLink :exec
-- A newer link replaces the previous one.
INSERT INTO password_links (id, tenant_id, user_id, token_hash, request_id, expires_at, created_at)
VALUES (@id, @tenant_id, @user_id, @token_hash, @request_id, @expires_at, @now)
ON CONFLICT (user_id) DO UPDATE SET
    id = excluded.id, token_hash = excluded.token_hash, request_id = excluded.request_id,
    expires_at = excluded.expires_at, used_at = NULL, created_at = excluded.created_at;

-- name: GetPasswordLinkByToken :one
-- @sqlc-vet-disable tenant
-- The request has only the token.
SELECT sqlc.embed(password_links), users.status AS user_status
FROM password_links JOIN users ON users.id = password_links.user_id
WHERE token_hash = @token_hash;

-- name: UsePasswordLink :execrows
-- A link can be used once, and only while it is the newest.
UPDATE password_links SET used_at = @now WHERE tenant_id = @tenant_id AND token_hash = @token_hash AND used_at IS NULL;

-- name: EndPasswordLink :exec
UPDATE password_links SET used_at = @now WHERE tenant_id = @tenant_id AND user_id = @user_id AND used_at IS NULL;

-- name: DeletePasswordLinksBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention of all tenants.
DELETE FROM password_links WHERE id = ANY (ARRAY(
    SELECT l.id FROM password_links l WHERE l.expires_at < @before ORDER BY l.expires_at LIMIT @max_rows));
