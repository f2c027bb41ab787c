-- name: ListSigningKeys :many
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants. The first one signs.
SELECT * FROM signing_keys WHERE retired_at IS NULL ORDER BY created_at DESC, id DESC;

-- name: ListAllSigningKeys :many
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants.
SELECT * FROM signing_keys ORDER BY created_at DESC, id DESC;

-- name: CreateSigningKey :one
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants.
INSERT INTO signing_keys (id, private_key, created_at) VALUES (@id, @private_key, @now) RETURNING *;

-- name: RetireSigningKeys :many
-- @sqlc-vet-disable tenant
-- Keys that were replaced so long ago that all their tokens have expired.
UPDATE signing_keys k SET retired_at = @now, private_key = ''
WHERE k.retired_at IS NULL
  AND EXISTS (SELECT 1 FROM signing_keys n WHERE (n.created_at, n.id) > (k.created_at, k.id) AND n.created_at < @before)
RETURNING k.id;

-- name: RevokeSigningKey :exec
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants.
UPDATE signing_keys SET retired_at = @now, revoked_at = @now, private_key = '' WHERE id = @id;

-- name: ListSigningKeysToReseal :many
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants. Lists keys that another master key encrypted.
SELECT * FROM signing_keys
WHERE id > @after AND octet_length(private_key) > 0 AND substring(private_key FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
ORDER BY id LIMIT @max_rows;

-- name: ResealSigningKey :exec
-- @sqlc-vet-disable tenant
-- As ListSigningKeysToReseal. Does nothing if the key was changed meanwhile.
UPDATE signing_keys SET private_key = @sealed WHERE id = @id AND private_key = @before;
