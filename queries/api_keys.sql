-- name: CreateAPIKey :one
INSERT INTO api_keys (id, tenant_id, name, key_hash, parent_id, prefix, last4, scopes, expires_at, created_at)
VALUES (@id, @tenant_id, @name, @key_hash, @parent_id, @prefix, @last4, @scopes::text[], @expires_at, @now) RETURNING *;

-- name: ListAPIKeys :many
SELECT * FROM api_keys
WHERE tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: CountAPIKeys :one
-- Keys that are valid for calls.
SELECT count(*) FROM api_keys
WHERE tenant_id = @tenant_id AND revoked_at IS NULL AND coalesce(expires_at, 'infinity'::timestamptz) > @now::timestamptz;

-- name: GetAPIKeyCreation :one
-- When the tenant made the key before its newest skipped ones, revoked and expired ones included.
SELECT created_at FROM api_keys WHERE tenant_id = @tenant_id AND created_at > @since::timestamptz
ORDER BY created_at DESC LIMIT 1 OFFSET @skipped;

-- name: DeleteAPIKeysBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Only the hashes of the keys are kept. Returns the number of keys.
WITH gone AS (
    DELETE FROM api_keys a WHERE a.id = ANY (ARRAY(
        SELECT k.id FROM api_keys k WHERE (k.revoked_at IS NOT NULL OR k.expires_at IS NOT NULL) AND least(k.revoked_at, k.expires_at) < @before::timestamptz
          AND k.tenant_id <> ALL (ARRAY(SELECT held_tenants()))
        ORDER BY least(k.revoked_at, k.expires_at) LIMIT @max_rows))
    RETURNING a.key_hash, a.revoked_at, a.expires_at
)
INSERT INTO ended_api_keys (key_hash, revoked, ended_at)
SELECT g.key_hash, g.revoked_at IS NOT NULL, least(g.revoked_at, g.expires_at) FROM gone g;

-- name: DeleteEndedAPIKeysBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM ended_api_keys WHERE key_hash = ANY (ARRAY(
    SELECT k.key_hash FROM ended_api_keys k WHERE k.ended_at < @before::timestamptz ORDER BY k.ended_at LIMIT @max_rows));

-- name: GetEndedAPIKey :one
-- @sqlc-vet-disable tenant
-- The hash of a deleted key names no tenant.
SELECT revoked FROM ended_api_keys WHERE key_hash = @key_hash;

-- name: LockAPIKey :one
SELECT * FROM api_keys WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: RevokeAPIKeys :execrows
-- The key and all keys that were created with it, directly or indirectly.
WITH RECURSIVE family AS (
    SELECT k.id FROM api_keys k WHERE k.tenant_id = @tenant_id AND k.id = @id
    UNION
    SELECT c.id FROM api_keys c JOIN family f ON c.parent_id = f.id WHERE c.tenant_id = @tenant_id
)
UPDATE api_keys a SET revoked_at = @now
WHERE a.tenant_id = @tenant_id AND a.revoked_at IS NULL AND a.id IN (SELECT family.id FROM family);

-- name: GetAPIKeyByHash :one
-- @sqlc-vet-disable tenant
-- The key itself determines the tenant.
SELECT sqlc.embed(k), t.status AS tenant_status
FROM api_keys k JOIN tenants t ON t.id = k.tenant_id
WHERE k.key_hash = @key_hash;

-- name: TouchAPIKey :exec
UPDATE api_keys SET last_used_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND (last_used_at IS NULL OR last_used_at < @stale);

-- name: CountKeysByDay :many
-- @sqlc-vet-disable tenant
-- The new keys of all tenants by day, since an id of a time, for operators.
SELECT date_trunc('day', k.created_at, 'UTC')::timestamptz AS day, count(*) AS n FROM api_keys k
WHERE k.id >= @first_id AND k.created_at >= @since::timestamptz GROUP BY 1;

-- name: CountUsedKeys :one
-- @sqlc-vet-disable tenant
-- The keys of all tenants that were used since a time, for operators.
SELECT count(*) FROM api_keys k WHERE k.last_used_at >= @since::timestamptz;

-- name: CountUsedKeysOfTenants :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants.
SELECT k.tenant_id, count(*) AS n FROM api_keys k WHERE k.tenant_id = ANY (@tenant_ids::text[]) AND k.last_used_at >= @since::timestamptz GROUP BY 1;
