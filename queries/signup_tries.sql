-- name: LockSignupTries :one
-- @sqlc-vet-disable tenant
-- A user who signs up has no tenant yet. Creates the row if there is none.
INSERT INTO signup_tries (email_hash, touched_at) VALUES (@email_hash, @now)
ON CONFLICT (email_hash) DO UPDATE SET touched_at = excluded.touched_at RETURNING *;

-- name: SetSignupTries :exec
-- @sqlc-vet-disable tenant
-- As LockSignupTries.
UPDATE signup_tries SET wrong_codes = @wrong_codes, resent_at = @resent_at WHERE email_hash = @email_hash;

-- name: DeleteSignupTriesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM signup_tries WHERE email_hash = ANY (ARRAY(
    SELECT s.email_hash FROM signup_tries s WHERE s.touched_at < @before ORDER BY s.touched_at LIMIT @max_rows));
