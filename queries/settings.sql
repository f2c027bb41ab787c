-- name: ListSettings :many
-- @sqlc-vet-disable tenant
-- Settings belong to the platform.
SELECT * FROM settings;

-- name: PutSetting :one
-- @sqlc-vet-disable tenant
-- Settings belong to the platform.
INSERT INTO settings (key, value, updated_by, updated_at) VALUES (@key, @value, @updated_by, @now)
ON CONFLICT (key) DO UPDATE SET value = @value, updated_by = @updated_by, updated_at = @now RETURNING *;

-- name: DeleteSetting :exec
-- @sqlc-vet-disable tenant
-- Settings belong to the platform.
DELETE FROM settings WHERE key = @key;

-- name: GetSetting :one
-- @sqlc-vet-disable tenant
-- Settings belong to the platform.
SELECT * FROM settings WHERE key = @key;
