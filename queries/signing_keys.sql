-- name: ListSigningKeys :many
SELECT * FROM signing_keys WHERE retired_at IS NULL ORDER BY id DESC;

-- name: CreateSigningKey :exec
INSERT INTO signing_keys (id, private_key, created_at) VALUES (@id, @private_key, @now);

-- name: LockName :exec
-- Serialises the first start of several processes on one database.
SELECT pg_advisory_xact_lock(hashtext(@name::text));
