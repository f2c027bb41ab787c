-- name: CreateWebhookEndpoint :one
INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
VALUES (@id, @tenant_id, @url, @events::text[], @secret, @now, @now) RETURNING *;

-- name: ListWebhookEndpoints :many
SELECT * FROM webhook_endpoints
WHERE tenant_id = @tenant_id AND deleted_at IS NULL AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: GetWebhookEndpoint :one
SELECT * FROM webhook_endpoints WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL;

-- name: ListEndpointsForEvent :many
SELECT id FROM webhook_endpoints
WHERE tenant_id = @tenant_id AND deleted_at IS NULL AND status = 'active'
  AND (cardinality(events) = 0 OR @event::text = ANY (events))
ORDER BY id;

-- name: DeleteWebhookEndpoint :one
UPDATE webhook_endpoints SET deleted_at = @now, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: DisableWebhookEndpoint :execrows
UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = @disabled_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND status = 'active' AND deleted_at IS NULL;
