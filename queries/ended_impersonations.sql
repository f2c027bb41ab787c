-- name: EndImpersonation :execrows
-- @sqlc-vet-disable tenant
-- The id of a token is unique among all tenants. No row means that it had ended.
-- Also deletes up to 100 rows of tokens that expired before a time, except for those that another call deletes now.
WITH expired AS (
    DELETE FROM ended_impersonations WHERE token_id IN (
        SELECT e.token_id FROM ended_impersonations e WHERE e.expires_at < @before::timestamptz ORDER BY e.expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)
)
INSERT INTO ended_impersonations (token_id, expires_at) VALUES (@token_id, @expires_at) ON CONFLICT DO NOTHING;

-- name: HasImpersonationEnded :one
-- @sqlc-vet-disable tenant
-- As EndImpersonation.
SELECT EXISTS (SELECT FROM ended_impersonations WHERE token_id = @token_id);
