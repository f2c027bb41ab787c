-- name: CreateCaptureURL :one
INSERT INTO capture_urls (id, tenant_id, token, created_at) VALUES (@id, @tenant_id, @token, @now) RETURNING *;

-- name: ListCaptureUrls :many
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND deleted_at IS NULL ORDER BY id DESC;

-- name: GetCaptureURL :one
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND token = @token AND deleted_at IS NULL;

-- name: GetCaptureTarget :one
-- @sqlc-vet-disable tenant
-- The token's tenant, and the bytes that the tenant's URLs have received. A sender needs only the token.
-- Includes deleted URLs.
SELECT u.tenant_id, u.deleted_at, t.status AS tenant_status, p.max_capture_bytes, x.bytes, x.minute, x.minute_bytes
FROM capture_urls u JOIN tenants t ON t.id = u.tenant_id JOIN plans p ON p.tier = t.plan JOIN capture_usage x ON x.tenant_id = u.tenant_id
WHERE u.token = @token;

-- name: EnsureCaptureUsage :exec
INSERT INTO capture_usage (tenant_id) VALUES (@tenant_id) ON CONFLICT DO NOTHING;

-- name: LockCaptureURL :one
-- Deleted ones too.
SELECT * FROM capture_urls WHERE tenant_id = @tenant_id AND token = @token FOR UPDATE;

-- name: DeleteCaptureURL :one
UPDATE capture_urls SET deleted_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: DeleteCapturesOf :exec
-- The caller has locked the tenant's capture_usage.
WITH deleted AS (DELETE FROM captures c WHERE c.tenant_id = @tenant_id AND c.capture_url_id = @capture_url_id RETURNING c.bytes)
UPDATE capture_usage SET bytes = bytes - (SELECT coalesce(sum(d.bytes), 0) FROM deleted d) WHERE capture_usage.tenant_id = @tenant_id;

-- name: DeleteCaptureURLsBefore :execrows
-- @sqlc-vet-disable tenant
-- Removes URLs that were deleted long ago, max_rows at most.
DELETE FROM capture_urls WHERE id = ANY (ARRAY(
    SELECT u.id FROM capture_urls u WHERE u.deleted_at < @before ORDER BY u.deleted_at LIMIT @max_rows));
