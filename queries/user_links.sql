-- name: GetUserLink :one
SELECT * FROM user_links WHERE tenant_id = @tenant_id AND user_id = @user_id AND purpose = @purpose;

-- name: PutUserLink :exec
-- A newer link replaces the one before.
INSERT INTO user_links (id, tenant_id, user_id, purpose, token_hash, request_id, expires_at, created_at)
VALUES (@id, @tenant_id, @user_id, @purpose, @token_hash, @request_id, @expires_at, @now)
ON CONFLICT (user_id, purpose) DO UPDATE SET
    id = excluded.id, token_hash = excluded.token_hash, request_id = excluded.request_id,
    expires_at = excluded.expires_at, used_at = NULL, created_at = excluded.created_at;

-- name: GetUserLinkByToken :one
-- @sqlc-vet-disable tenant
-- Whoever follows a link has said nothing else yet.
SELECT sqlc.embed(user_links), users.status AS user_status, tenants.status AS tenant_status
FROM user_links JOIN users ON users.id = user_links.user_id JOIN tenants ON tenants.id = user_links.tenant_id
WHERE token_hash = @token_hash AND purpose = @purpose;

-- name: UseUserLink :execrows
-- Counts once, and only while it is the newest.
UPDATE user_links SET used_at = @now WHERE tenant_id = @tenant_id AND token_hash = @token_hash AND used_at IS NULL;

-- name: EndUserLink :exec
UPDATE user_links SET used_at = @now WHERE tenant_id = @tenant_id AND user_id = @user_id AND purpose = @purpose AND used_at IS NULL;

-- name: DeleteUserLinksBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention is everybody's.
DELETE FROM user_links WHERE id = ANY (ARRAY(
    SELECT l.id FROM user_links l WHERE l.expires_at < @before ORDER BY l.expires_at LIMIT @max_rows));
