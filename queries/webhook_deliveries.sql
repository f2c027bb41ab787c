-- name: LinkToTail :one
-- Makes the new delivery wait for the first attempt of the subject's newest one.
-- The row lock serialises this with the attempt's recording; no row: nothing to wait for.
UPDATE webhook_deliveries d SET next_id = @next_id::text
WHERE d.tenant_id = @tenant_id AND d.status = 'pending' AND d.next_id IS NULL AND d.id = (
    SELECT t.id FROM webhook_deliveries t
    WHERE t.tenant_id = @tenant_id AND t.endpoint_id = @endpoint_id AND t.subject = @subject AND t.status = 'pending' AND t.next_id IS NULL
    ORDER BY t.id DESC LIMIT 1)
RETURNING d.id;

-- name: CreateWebhookDelivery :exec
INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, next_attempt_at, created_at)
VALUES (@id, @tenant_id, @endpoint_id, @event_id, @subject, @now, @now);

-- name: ListWebhookDeliveries :many
SELECT sqlc.embed(d), e.event, e.payload FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
WHERE d.tenant_id = @tenant_id AND d.endpoint_id = @endpoint_id
  AND (sqlc.narg('cursor')::text IS NULL OR d.id < sqlc.narg('cursor')::text)
ORDER BY d.id DESC LIMIT @max_rows;

-- name: LockWebhookDelivery :one
SELECT sqlc.embed(d), e.event, e.payload, w.status AS endpoint_status, (w.deleted_at IS NOT NULL)::boolean AS endpoint_deleted
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
WHERE d.tenant_id = @tenant_id AND d.id = @id FOR UPDATE OF d;

-- name: ListDeliveriesForAttempt :many
-- @sqlc-vet-disable tenant
-- The jobs know their deliveries alone.
SELECT d.id, d.tenant_id, d.endpoint_id, d.event_id, d.status, d.tries, d.next_attempt_at, d.retry_at, e.event, e.payload,
    w.url, w.secret, w.status AS endpoint_status, (w.deleted_at IS NOT NULL)::boolean AS endpoint_deleted,
    t.status AS tenant_status
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
JOIN webhook_endpoints w ON w.id = d.endpoint_id JOIN tenants t ON t.id = d.tenant_id
WHERE d.id = ANY (@ids::text[]);

-- name: RecordAttempt :one
-- Guarded by the number of tries, so that of two workers one records. The log keeps the last 50 attempts, here
-- and below: manual retries have no end, and each writes the whole row.
UPDATE webhook_deliveries SET status = @status, attempts = attempts + 1, tries = tries + 1, next_attempt_at = @next_attempt_at,
    response_status = @response_status, response_body = @response_body, duration_ms = @duration_ms, error = @error,
    log = CASE WHEN jsonb_array_length(log) >= 50 THEN log - 0 ELSE log END || @entry::jsonb, delivered_at = coalesce(@delivered_at, delivered_at)
WHERE tenant_id = @tenant_id AND id = @id AND tries = @tries AND status IN ('pending', 'retrying') RETURNING next_id;

-- name: RecordLoneAttempts :many
-- RecordAttempt for many deliveries that nothing waits for; returns those it has recorded. It waits for no
-- lock, so it can't be part of a deadlock: a row that somebody holds is left to RecordAttempt. The arrays
-- have one element per delivery and know no NULL; 0 and '' stand for it.
WITH made AS (
    SELECT unnest(@id::text[]) AS id, unnest(@tenant_id::text[]) AS tenant_id, unnest(@tries::integer[]) AS tries,
        unnest(@status::text[]) AS status, unnest(@next_attempt_at::timestamptz[]) AS next_attempt_at,
        unnest(@response_status::integer[]) AS response_status, unnest(@response_body::text[]) AS response_body,
        unnest(@duration_ms::integer[]) AS duration_ms, unnest(@error::text[]) AS error, unnest(@entry::text[]) AS entry,
        unnest(@delivered_at::timestamptz[]) AS delivered_at
), free AS (
    SELECT d.id FROM webhook_deliveries d JOIN made m ON m.id = d.id
    WHERE d.tenant_id = m.tenant_id AND d.tries = m.tries AND d.status IN ('pending', 'retrying') AND d.next_id IS NULL FOR UPDATE OF d SKIP LOCKED
)
UPDATE webhook_deliveries d SET status = m.status, attempts = d.attempts + 1, tries = d.tries + 1,
    next_attempt_at = CASE WHEN m.status = 'retrying' THEN m.next_attempt_at END,
    response_status = nullif(m.response_status, 0), response_body = CASE WHEN m.response_status <> 0 THEN m.response_body END,
    duration_ms = m.duration_ms, error = nullif(m.error, ''),
    log = CASE WHEN jsonb_array_length(d.log) >= 50 THEN d.log - 0 ELSE d.log END || m.entry::jsonb,
    delivered_at = CASE WHEN m.status = 'delivered' THEN m.delivered_at ELSE d.delivered_at END
FROM made m JOIN free f ON f.id = m.id
WHERE d.id = m.id AND d.tenant_id = m.tenant_id AND d.tries = m.tries AND d.next_id IS NULL
RETURNING d.id;

-- name: GiveUpDelivery :one
UPDATE webhook_deliveries SET status = 'failed', next_attempt_at = NULL, error = @error
WHERE tenant_id = @tenant_id AND id = @id AND status IN ('pending', 'retrying') RETURNING next_id;

-- name: RequestRetry :exec
UPDATE webhook_deliveries SET retry_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: DropRetry :exec
UPDATE webhook_deliveries SET retry_at = NULL WHERE tenant_id = @tenant_id AND id = @id;

-- name: RecordRetry :exec
-- An attempt besides the schedule: only an arrival changes what the schedule goes on with.
UPDATE webhook_deliveries SET attempts = attempts + 1, retry_at = NULL, response_status = @response_status,
    response_body = @response_body, duration_ms = @duration_ms, error = @error, log = CASE WHEN jsonb_array_length(log) >= 50 THEN log - 0 ELSE log END || @entry::jsonb,
    status = CASE WHEN @arrived::boolean THEN 'delivered' ELSE status END,
    next_attempt_at = CASE WHEN @arrived THEN NULL ELSE next_attempt_at END,
    delivered_at = CASE WHEN @arrived THEN coalesce(delivered_at, @now::timestamptz) ELSE delivered_at END
WHERE tenant_id = @tenant_id AND id = @id AND retry_at IS NOT NULL;

-- name: DeleteDeliveriesBefore :execrows
-- @sqlc-vet-disable tenant
-- The oldest ones that are done, max_rows at most: one statement must not take long.
DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
    SELECT d.id FROM webhook_deliveries d WHERE d.created_at < @before AND d.status IN ('delivered', 'failed')
    ORDER BY d.created_at LIMIT @max_rows));
