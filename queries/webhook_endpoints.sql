-- name: CreateWebhookEndpoint :one
INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
VALUES (@id, @tenant_id, @url, @events::text[], @secret, @now, @now) RETURNING *;

-- name: ListWebhookEndpoints :many
SELECT * FROM webhook_endpoints
WHERE tenant_id = @tenant_id AND deleted_at IS NULL AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: CountWebhookEndpoints :one
SELECT count(*) FROM webhook_endpoints WHERE tenant_id = @tenant_id AND deleted_at IS NULL;

-- name: GetWebhookEndpointCreation :one
-- When the tenant made the endpoint before its newest skipped ones, deleted ones included.
SELECT created_at FROM webhook_endpoints WHERE tenant_id = @tenant_id AND created_at > @since::timestamptz
ORDER BY created_at DESC LIMIT 1 OFFSET @skipped;

-- name: DeleteWebhookEndpointsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Keeps endpoints that deliveries refer to; no new delivery refers to a deleted endpoint.
DELETE FROM webhook_endpoints WHERE id = ANY (ARRAY(
    SELECT e.id FROM webhook_endpoints e
    WHERE e.deleted_at < @before::timestamptz AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id)
    ORDER BY e.deleted_at LIMIT @max_rows));

-- name: GetWebhookEndpoint :one
SELECT * FROM webhook_endpoints WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL;

-- name: DeleteWebhookEndpoint :one
UPDATE webhook_endpoints SET deleted_at = @now, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: DisableWebhookEndpoint :execrows
-- With failing_before, only if the endpoint has failed since before that time: there may have been a success meanwhile.
UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = @disabled_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND status = 'active' AND deleted_at IS NULL
  AND (sqlc.narg('failing_before')::timestamptz IS NULL OR failing_since <= sqlc.narg('failing_before')::timestamptz);

-- name: LockWebhookEndpoint :one
-- The lock still allows others to write deliveries that refer to the row.
SELECT * FROM webhook_endpoints WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL FOR NO KEY UPDATE;

-- name: UpdateWebhookEndpoint :one
UPDATE webhook_endpoints SET url = @url, events = @events::text[], status = @status, disabled_reason = @disabled_reason,
    failing_since = @failing_since, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: RotateWebhookSecret :one
UPDATE webhook_endpoints SET previous_secret = secret, previous_secret_until = @previous_until::timestamptz, secret = @secret, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: NoteWebhookFailure :exec
UPDATE webhook_endpoints SET failing_since = @now::timestamptz WHERE tenant_id = @tenant_id AND id = @id AND failing_since IS NULL;

-- name: NoteWebhookSuccess :exec
UPDATE webhook_endpoints SET failing_since = NULL WHERE tenant_id = @tenant_id AND id = @id AND failing_since IS NOT NULL;

-- name: ListEndpointsToReseal :many
-- @sqlc-vet-disable tenant
-- The master key is the same for all tenants. Lists endpoints with a secret that another master key encrypted.
SELECT * FROM webhook_endpoints
WHERE id > @after AND (
    substring(secret FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
    OR substring(previous_secret FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea)
ORDER BY id LIMIT @max_rows;

-- name: ResealEndpoint :exec
-- @sqlc-vet-disable tenant
-- As ListEndpointsToReseal. Does nothing if the secrets were replaced meanwhile.
UPDATE webhook_endpoints SET secret = @secret, previous_secret = @previous_secret
WHERE id = @id AND secret = @secret_before AND previous_secret IS NOT DISTINCT FROM @previous_before;
