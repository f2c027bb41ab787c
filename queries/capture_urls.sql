-- name: CreateCaptureURL :one
INSERT INTO capture_urls (id, tenant_id, token, created_at) VALUES (@id, @tenant_id, @token, @now) RETURNING *;

-- name: ListCaptureUrls :many
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND deleted_at IS NULL ORDER BY id DESC;

-- name: GetCaptureURL :one
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND token = @token AND deleted_at IS NULL;

-- name: HasCaptureURL :one
-- @sqlc-vet-disable tenant
-- Whoever knows a token may send to it.
SELECT EXISTS (SELECT 1 FROM capture_urls u WHERE u.token = @token AND u.deleted_at IS NULL);

-- name: LockCaptureURL :one
-- Deleted ones too.
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND token = @token FOR UPDATE;

-- name: DeleteCaptureURL :one
UPDATE capture_urls SET deleted_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: DeleteCapturesOf :exec
DELETE FROM captures WHERE tenant_id = @tenant_id AND capture_url_id = @capture_url_id;

-- name: DeleteCaptureURLsBefore :execrows
-- @sqlc-vet-disable tenant
-- Those that were deleted long ago, max_rows at most.
DELETE FROM capture_urls WHERE id = ANY (ARRAY(
    SELECT u.id FROM capture_urls u WHERE u.deleted_at < @before ORDER BY u.deleted_at LIMIT @max_rows));
