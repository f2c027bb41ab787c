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
    WHERE e.deleted_at < @before::timestamptz AND e.tenant_id <> ALL (ARRAY(SELECT held_tenants())) AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = e.id)
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

-- name: CountPlatformEndpoints :many
-- @sqlc-vet-disable tenant
-- The endpoints of all tenants, or of one, by status, for operators.
SELECT w.status, count(*) AS n FROM webhook_endpoints w
WHERE w.deleted_at IS NULL AND (sqlc.narg('tenant')::text IS NULL OR w.tenant_id = sqlc.narg('tenant')) GROUP BY 1;

-- name: ListPlatformEndpoints :many
-- @sqlc-vet-disable tenant
-- A page of the endpoints of all tenants, or of one, newest first, with the deliveries since an id; max_count at most are counted. last_success_at is
-- 1970 for none. For operators.
WITH page AS MATERIALIZED (
    SELECT o.id FROM webhook_endpoints o
    WHERE o.deleted_at IS NULL AND (sqlc.narg('tenant')::text IS NULL OR o.tenant_id = sqlc.narg('tenant'))
    ORDER BY o.created_at DESC, o.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(w), t.name AS tenant_name,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id AND d.id >= @first_id LIMIT @max_count) n) AS deliveries,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d
        WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END IN ('retrying', 'failed')
          AND d.id COLLATE "C" >= @first_id LIMIT @max_count) n) AS failed,
    coalesce((SELECT max(n.delivered_at) FROM (SELECT d.delivered_at FROM webhook_deliveries d
        WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END = 'delivered'
        ORDER BY d.id COLLATE "C" DESC LIMIT 20) n), 'epoch')::timestamptz AS last_success_at
FROM page JOIN webhook_endpoints w ON w.id = page.id JOIN tenants t ON t.id = w.tenant_id ORDER BY w.created_at DESC, w.id DESC;

-- name: FindEndpointTenant :one
-- @sqlc-vet-disable tenant
-- For operators, who know only the id.
SELECT tenant_id FROM webhook_endpoints WHERE id = @id AND deleted_at IS NULL;

-- name: CountNewEndpoints :one
-- @sqlc-vet-disable tenant
-- The endpoints of all tenants since an id of a time, for operators.
SELECT count(*) FROM webhook_endpoints w WHERE w.id >= @first_id AND w.created_at >= @since::timestamptz;
