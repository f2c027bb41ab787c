-- name: CreateAPIKey :one
INSERT INTO api_keys (id, tenant_id, name, key_hash, prefix, last4, scopes, expires_at, created_at)
VALUES (@id, @tenant_id, @name, @key_hash, @prefix, @last4, @scopes::text[], @expires_at, @now) RETURNING *;

-- name: ListAPIKeys :many
SELECT * FROM api_keys
WHERE tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: LockAPIKey :one
SELECT * FROM api_keys WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: RevokeAPIKey :one
UPDATE api_keys SET revoked_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: GetAPIKeyByHash :one
SELECT sqlc.embed(k), t.status AS tenant_status
FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
WHERE k.key_hash = @key_hash;

-- name: TouchAPIKey :exec
UPDATE api_keys SET last_used_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND (last_used_at IS NULL OR last_used_at < @stale);
