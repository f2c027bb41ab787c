-- name: EndImpersonation :execrows
-- @sqlc-vet-disable tenant
-- The id of a token is unique among all tenants. Also deletes the rows of tokens that have expired. No row means that it had ended.
WITH expired AS (DELETE FROM ended_impersonations WHERE expires_at < @now::timestamptz)
INSERT INTO ended_impersonations (token_id, expires_at) VALUES (@token_id, @expires_at) ON CONFLICT DO NOTHING;

-- name: HasImpersonationEnded :one
-- @sqlc-vet-disable tenant
-- As EndImpersonation.
SELECT EXISTS (SELECT FROM ended_impersonations WHERE token_id = @token_id);
