-- name: CreateSignIn :one
-- @sqlc-vet-disable tenant
-- A holder is a user or an admin; its id is unique among all tenants.
INSERT INTO sign_ins (id, holder_id, token_version, ip, user_agent, created_at, last_seen_at, expires_at)
VALUES (@id, @holder_id, @token_version, @ip, @user_agent, @now, @now, @expires_at) RETURNING *;

-- name: DeleteExcessSignIns :exec
-- @sqlc-vet-disable tenant
-- Keeps the newest ones, and deletes those that have ended with an earlier version of the holder's tokens.
DELETE FROM sign_ins s WHERE s.holder_id = @holder_id AND (s.token_version <> @token_version OR s.id NOT IN (
    SELECT n.id FROM sign_ins n WHERE n.holder_id = @holder_id AND n.token_version = @token_version ORDER BY n.id DESC LIMIT @keep));

-- name: ListSignIns :many
-- @sqlc-vet-disable tenant
-- As CreateSignIn. Newest first.
SELECT * FROM sign_ins WHERE holder_id = @holder_id AND token_version = @token_version AND expires_at > @now ORDER BY id DESC LIMIT @max_rows;

-- name: TouchSignIns :exec
-- @sqlc-vet-disable tenant
-- As CreateSignIn.
UPDATE sign_ins SET last_seen_at = @now WHERE id = ANY (@ids::text[]) AND last_seen_at < @stale;

-- name: DeleteSignIn :one
-- @sqlc-vet-disable tenant
-- As CreateSignIn.
DELETE FROM sign_ins WHERE holder_id = @holder_id AND id = @id RETURNING *;

-- name: DeleteOtherSignIns :many
-- @sqlc-vet-disable tenant
-- As CreateSignIn.
DELETE FROM sign_ins WHERE holder_id = @holder_id AND id <> @kept_id RETURNING id;

-- name: DeleteSignInsOf :exec
-- @sqlc-vet-disable tenant
-- As CreateSignIn.
DELETE FROM sign_ins WHERE holder_id = @holder_id;

-- name: DeleteSignInsBefore :execrows
-- @sqlc-vet-disable tenant
-- Expired ones, of all tenants.
DELETE FROM sign_ins WHERE id IN (SELECT s.id FROM sign_ins s WHERE s.expires_at < @before ORDER BY s.expires_at LIMIT @max_rows);
