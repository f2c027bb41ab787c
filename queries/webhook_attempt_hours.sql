-- name: AddWebhookAttempts :exec
-- @sqlc-vet-disable tenant
-- Adds counts of attempts. The arrays have one element for each row, sorted by hour and endpoint. took is as in AddAPICalls.
INSERT INTO webhook_attempt_hours AS h (hour, endpoint_id, attempts, failed, took)
SELECT unnest(@hours::timestamptz[]), unnest(@endpoint_ids::text[]), unnest(@attempts::bigint[]), unnest(@failed::bigint[]),
    nullif(unnest(@took::text[]), '')::bigint[]
ON CONFLICT (hour, endpoint_id) DO UPDATE SET attempts = h.attempts + excluded.attempts, failed = h.failed + excluded.failed,
    took = add_counts(h.took, excluded.took);

-- name: ListWebhookAttempts :many
-- @sqlc-vet-disable tenant
-- The attempts of all tenants by hour, for operators.
SELECT h.attempts, h.failed, h.took::bigint[] AS took FROM webhook_attempt_hours h WHERE h.endpoint_id = '' AND h.hour >= @since::timestamptz;

-- name: ListFailingEndpoints :many
-- @sqlc-vet-disable tenant
-- The endpoints of all tenants with the most failed attempts, for operators. The last error is that of the newest delivery that
-- failed. last_success_at is 1970 for none.
SELECT sqlc.embed(w), t.name AS tenant_name, f.failed, (SELECT d.error FROM webhook_deliveries d
    WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END IN ('retrying', 'failed')
    ORDER BY d.id COLLATE "C" DESC LIMIT 1) AS last_error,
    coalesce((SELECT max(n.delivered_at) FROM (SELECT d.delivered_at FROM webhook_deliveries d
        WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END = 'delivered'
        ORDER BY d.id COLLATE "C" DESC LIMIT 20) n), 'epoch')::timestamptz AS last_success_at
FROM (
    SELECT h.endpoint_id, sum(h.failed)::bigint AS failed FROM webhook_attempt_hours h
    WHERE h.failed > 0 AND h.endpoint_id <> '' AND h.hour >= @since::timestamptz GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT @max_rows
) f JOIN webhook_endpoints w ON w.id = f.endpoint_id JOIN tenants t ON t.id = w.tenant_id
WHERE w.deleted_at IS NULL ORDER BY f.failed DESC, w.id;

-- name: DeleteWebhookAttemptsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM webhook_attempt_hours WHERE ctid = ANY (ARRAY(
    SELECT h.ctid FROM webhook_attempt_hours h WHERE h.hour < @before::timestamptz ORDER BY h.hour LIMIT @max_rows));
