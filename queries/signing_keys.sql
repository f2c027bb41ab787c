-- name: ListSigningKeys :many
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants.
SELECT * FROM signing_keys WHERE retired_at IS NULL ORDER BY id DESC;

-- name: CreateSigningKey :exec
-- @sqlc-vet-disable tenant
-- One set of keys signs for all tenants.
INSERT INTO signing_keys (id, private_key, created_at) VALUES (@id, @private_key, @now);

-- name: LockName :exec
-- @sqlc-vet-disable tenant
-- Serialises the first start of several processes on one database.
SELECT pg_advisory_xact_lock(hashtext(@name::text));
