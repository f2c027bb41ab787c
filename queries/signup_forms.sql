-- name: PutSignupForm :exec
-- @sqlc-vet-disable tenant
-- A user who signs up has no tenant yet. A newer form replaces the previous one.
INSERT INTO signup_forms (email, id, tenant_name, name, password_hash, code_hash, expires_at, created_at)
VALUES (@email, @id, @tenant_name, @name, @password_hash, @code_hash, @expires_at, @now)
ON CONFLICT (email) DO UPDATE SET
    id = excluded.id, tenant_name = excluded.tenant_name, name = excluded.name, password_hash = excluded.password_hash,
    code_hash = excluded.code_hash, resend_id = NULL, expires_at = excluded.expires_at, created_at = excluded.created_at;

-- name: LockSignupForm :one
-- @sqlc-vet-disable tenant
-- As PutSignupForm.
SELECT * FROM signup_forms WHERE email = @email FOR UPDATE;

-- name: SetSignupCode :exec
-- @sqlc-vet-disable tenant
-- As PutSignupForm.
UPDATE signup_forms SET code_hash = @code_hash, resend_id = @resend_id WHERE email = @email;

-- name: DeleteSignupForm :exec
-- @sqlc-vet-disable tenant
-- As PutSignupForm.
DELETE FROM signup_forms WHERE email = @email;

-- name: DeleteSignupFormsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM signup_forms WHERE email = ANY (ARRAY(
    SELECT f.email FROM signup_forms f WHERE f.expires_at < @before ORDER BY f.expires_at LIMIT @max_rows));
