-- name: JoinLines :many
-- Makes new deliveries wait for the first attempt of the newest delivery of their line; returns the deliveries that wait.
-- The arrays have one element for each pair of endpoint and subject, of any tenants. The row locks, which every transaction takes in one
-- order, serialise this with the recording of attempts. Rows are locked and updated only by their primary key: see RecordLoneAttempts.
WITH fresh AS (
    SELECT unnest(@tenant_ids::text[]) AS tenant_id, unnest(@endpoint_ids::text[]) AS endpoint_id, unnest(@subjects::text[]) AS subject,
        unnest(@next_ids::text[]) AS next_id
), tails AS MATERIALIZED (
    SELECT t.id, f.next_id FROM fresh f CROSS JOIN LATERAL (
        SELECT n.id FROM webhook_deliveries n
        WHERE n.tenant_id = f.tenant_id AND n.endpoint_id = f.endpoint_id AND n.subject = f.subject AND n.status = 'pending' AND n.next_id IS NULL
        ORDER BY n.sequence DESC LIMIT 1) t
    ORDER BY t.id
), locked AS MATERIALIZED (
    SELECT t.id, t.next_id FROM tails t CROSS JOIN LATERAL (
        SELECT d.status, d.next_id FROM webhook_deliveries d WHERE d.id = t.id OFFSET 0 FOR UPDATE OF d) d
    WHERE d.status = 'pending' AND d.next_id IS NULL
)
UPDATE webhook_deliveries d SET next_id = l.next_id FROM locked l WHERE d.id = l.id
RETURNING l.next_id::text;

-- name: CreateWebhookDelivery :exec
INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, next_attempt_at, created_at)
VALUES (@id, @tenant_id, @endpoint_id, @event_id, @subject, @sequence, @now, @now);

-- name: CreateWebhookDeliveries :exec
-- One element per delivery in each array, of any tenants; next_id is '' for a delivery for which none waits yet.
INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, next_attempt_at, created_at, next_id)
SELECT unnest(@ids::text[]), unnest(@tenant_ids::text[]), unnest(@endpoint_ids::text[]), unnest(@event_ids::text[]), unnest(@subjects::text[]), unnest(@sequences::bigint[]),
    @now::timestamptz, @now::timestamptz, nullif(unnest(@next_ids::text[]), '');

-- name: ListWebhookDeliveries :many
-- Deliveries with one of these statuses, in [first_id, before_id): reads max_rows of each status along the index, however many others
-- lie between. The status is the one that the tenant sees: while a requested attempt is due, it is retrying.
WITH page AS MATERIALIZED (
    SELECT f.id FROM unnest(@statuses::text[]) AS s (status) CROSS JOIN LATERAL (
        SELECT o.id FROM webhook_deliveries o
        WHERE o.tenant_id = @tenant_id AND o.endpoint_id = @endpoint_id AND CASE WHEN o.retry_at IS NULL THEN o.status ELSE 'retrying' END = s.status
          AND o.id COLLATE "C" >= @first_id AND o.id COLLATE "C" < @before_id
          AND (sqlc.narg('since')::timestamptz IS NULL OR o.created_at >= sqlc.narg('since')::timestamptz)
          AND (sqlc.narg('until')::timestamptz IS NULL OR o.created_at < sqlc.narg('until')::timestamptz)
        ORDER BY o.id COLLATE "C" DESC LIMIT @max_rows) f
    ORDER BY f.id COLLATE "C" DESC LIMIT @max_rows
)
SELECT sqlc.embed(d), e.event, e.payload FROM page JOIN webhook_deliveries d ON d.id = page.id JOIN events e ON e.id = d.event_id
WHERE d.tenant_id = @tenant_id ORDER BY d.id DESC;

-- name: HasManyNamedEvents :one
-- Whether the tenant has more than max_rows events of this name.
SELECT EXISTS (SELECT 1 FROM events e WHERE e.tenant_id = @tenant_id AND e.event = @event AND e.endpoint_id IS NULL OFFSET @max_rows);

-- name: ListDeliveriesOfRareEvent :many
-- As ListWebhookDeliveries, for events of one name. Begins with the events, of which there are few: a generic plan would begin with the
-- endpoint's deliveries, and read all of them.
WITH named AS MATERIALIZED (
    SELECT n.id FROM events n WHERE n.tenant_id = @tenant_id AND n.event = @event AND n.endpoint_id IS NULL
    UNION ALL
    SELECT n.id FROM events n WHERE n.tenant_id = @tenant_id AND n.event = @event AND n.endpoint_id = @endpoint_id::text
), found AS MATERIALIZED (
    SELECT f.id, f.endpoint_id, f.status, f.retry_at, f.created_at FROM webhook_deliveries f
    WHERE f.event_id = ANY (ARRAY(SELECT named.id FROM named))
), page AS MATERIALIZED (
    SELECT f.id FROM found f
    WHERE f.endpoint_id = @endpoint_id::text AND f.id >= @first_id AND f.id < @before_id
      AND CASE WHEN f.retry_at IS NULL THEN f.status ELSE 'retrying' END = ANY (@statuses::text[])
      AND (sqlc.narg('since')::timestamptz IS NULL OR f.created_at >= sqlc.narg('since')::timestamptz)
      AND (sqlc.narg('until')::timestamptz IS NULL OR f.created_at < sqlc.narg('until')::timestamptz)
    ORDER BY f.id COLLATE "C" DESC LIMIT @max_rows
)
SELECT sqlc.embed(d), e.event, e.payload FROM page JOIN webhook_deliveries d ON d.id = page.id JOIN events e ON e.id = d.event_id
ORDER BY d.id COLLATE "C" DESC;

-- name: ListDeliveriesOfEvent :many
-- As ListDeliveriesOfRareEvent. Begins with the deliveries, newest first, and compares their events.
SELECT sqlc.embed(d), e.event, e.payload FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
WHERE d.tenant_id = @tenant_id AND e.event = @event AND d.endpoint_id = @endpoint_id AND d.id >= @first_id AND d.id < @before_id
  AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END = ANY (@statuses::text[])
  AND (sqlc.narg('since')::timestamptz IS NULL OR d.created_at >= sqlc.narg('since')::timestamptz)
  AND (sqlc.narg('until')::timestamptz IS NULL OR d.created_at < sqlc.narg('until')::timestamptz)
ORDER BY d.id DESC LIMIT @max_rows;

-- name: LockWebhookDelivery :one
SELECT sqlc.embed(d), e.event, e.payload, w.status AS endpoint_status, (w.deleted_at IS NOT NULL)::boolean AS endpoint_deleted
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
WHERE d.tenant_id = @tenant_id AND d.id = @id FOR UPDATE OF d;

-- name: ListDeliveriesForAttempt :many
-- @sqlc-vet-disable tenant
-- The jobs know only their deliveries.
SELECT d.id, d.tenant_id, d.endpoint_id, d.event_id, d.status, d.tries, d.next_attempt_at, d.retry_at, d.next_id, d.sequence, e.event, e.payload,
    w.url, w.secret, w.previous_secret, w.previous_secret_until, w.failing_since, w.status AS endpoint_status, (w.deleted_at IS NOT NULL)::boolean AS endpoint_deleted,
    t.status AS tenant_status
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
JOIN webhook_endpoints w ON w.id = d.endpoint_id JOIN tenants t ON t.id = d.tenant_id
WHERE d.id = ANY (@ids::text[]);

-- name: RecordAttempt :one
-- Compares the number of tries, so that only one of two workers records. Here and below, the log keeps the last 50 attempts:
-- manual retries have no limit, and each writes the whole row. Returns the delivery that waits for this one;
-- unless the same worker continues with it (hold), another worker may take it from now on.
WITH before AS (
    SELECT b.id, b.next_id FROM webhook_deliveries b
    WHERE b.tenant_id = @tenant_id AND b.id = @id AND b.tries = @tries AND b.status IN ('pending', 'retrying') FOR UPDATE
)
UPDATE webhook_deliveries d SET status = @status, attempts = d.attempts + 1, tries = d.tries + 1, next_attempt_at = @next_attempt_at,
    response_status = @response_status, response_body = @response_body, duration_ms = @duration_ms, error = @error,
    log = CASE WHEN jsonb_array_length(d.log) >= 50 THEN d.log - 0 ELSE d.log END || @entry::jsonb,
    delivered_at = coalesce(@delivered_at, d.delivered_at), next_id = CASE WHEN @hold::boolean THEN d.next_id END
FROM before WHERE d.tenant_id = @tenant_id AND d.id = before.id RETURNING before.next_id;

-- name: RecordLoneAttempts :many
-- RecordAttempt for many deliveries for which no other waits, or whose next one the same worker continues with (hold). Returns the
-- recorded ones. It waits for no lock, so it can't be part of a deadlock: rows that another transaction has locked are left to
-- RecordAttempt. The arrays have one element per delivery and contain no NULL; 0 and '' stand for it.
-- Rows are locked and updated only by their primary key, and their other columns are compared after that (OFFSET 0 prevents the
-- planner from comparing them earlier). With outdated statistics, the planner otherwise reads all open deliveries.
WITH made AS MATERIALIZED (
    SELECT unnest(@id::text[]) AS id, unnest(@tenant_id::text[]) AS tenant_id, unnest(@tries::integer[]) AS tries,
        unnest(@status::text[]) AS status, unnest(@next_attempt_at::timestamptz[]) AS next_attempt_at,
        unnest(@response_status::integer[]) AS response_status, unnest(@response_body::text[]) AS response_body,
        unnest(@duration_ms::integer[]) AS duration_ms, unnest(@error::text[]) AS error, unnest(@entry::text[]) AS entry,
        unnest(@delivered_at::timestamptz[]) AS delivered_at, unnest(@hold::boolean[]) AS hold
), free AS MATERIALIZED (
    SELECT m.* FROM made m CROSS JOIN LATERAL (
        SELECT d.tenant_id, d.tries, d.status, d.next_id FROM webhook_deliveries d WHERE d.id = m.id OFFSET 0 FOR UPDATE OF d SKIP LOCKED) d
    WHERE d.tenant_id = m.tenant_id AND d.tries = m.tries AND d.status IN ('pending', 'retrying') AND (d.next_id IS NULL OR m.hold)
)
UPDATE webhook_deliveries d SET status = m.status, attempts = d.attempts + 1, tries = d.tries + 1,
    next_attempt_at = CASE WHEN m.status = 'retrying' THEN m.next_attempt_at END,
    response_status = nullif(m.response_status, 0), response_body = CASE WHEN m.response_status <> 0 THEN m.response_body END,
    duration_ms = m.duration_ms, error = nullif(m.error, ''),
    log = CASE WHEN jsonb_array_length(d.log) >= 50 THEN d.log - 0 ELSE d.log END || m.entry::jsonb,
    delivered_at = CASE WHEN m.status = 'delivered' THEN m.delivered_at ELSE d.delivered_at END
FROM free m WHERE d.id = m.id
RETURNING d.id, d.next_id;

-- name: GiveUpDelivery :one
-- Returns the delivery that waits for this one, as RecordAttempt does.
WITH before AS (
    SELECT b.id, b.next_id FROM webhook_deliveries b
    WHERE b.tenant_id = @tenant_id AND b.id = @id AND b.status IN ('pending', 'retrying') FOR UPDATE
)
UPDATE webhook_deliveries d SET status = 'failed', next_attempt_at = NULL, error = @error, next_id = CASE WHEN @hold::boolean THEN d.next_id END
FROM before WHERE d.tenant_id = @tenant_id AND d.id = before.id RETURNING before.next_id;

-- name: ListOverdueDeliveries :many
-- @sqlc-vet-disable tenant
-- Deliveries that were due before a time and wait for no other delivery, with or without a job. Leaves out deliveries whose previous
-- delivery has not been attempted, or was delivered after that time: its worker may be about to continue with them. OFFSET 0
-- prevents the planner from turning the search for the previous one into a join, which with old statistics compares all waiting
-- with all overdue deliveries.
SELECT d.id FROM webhook_deliveries d
WHERE d.status IN ('pending', 'retrying') AND d.next_attempt_at < @before::timestamptz AND d.id > @after
  AND NOT EXISTS (SELECT FROM webhook_deliveries p WHERE p.next_id = d.id AND (p.status = 'pending' OR p.delivered_at > @before::timestamptz) OFFSET 0)
ORDER BY d.id LIMIT @max_rows;

-- name: ListRecoverable :many
-- Events after a given one that an endpoint has not received: failed deliveries, and events without a delivery
-- (delivery_id is empty), in the order of the events. Leaves out deliveries that the fan-out will write.
SELECT e.id AS event_id, e.position, e.subject, e.sequence, coalesce(d.id, '')::text AS delivery_id
FROM events e LEFT JOIN webhook_deliveries d ON d.event_id = e.id AND d.endpoint_id = @endpoint_id
WHERE e.tenant_id = @tenant_id AND e.position > @after AND e.occurred_at >= @since
  AND (d.status = 'failed' OR d.id IS NULL AND e.endpoint_id IS NULL AND (cardinality(@events::text[]) = 0 OR e.event = ANY (@events::text[]))
      AND NOT (e.fanned_at IS NULL AND @endpoint_id = ANY (e.endpoint_ids)))
ORDER BY e.position LIMIT @max_rows;

-- name: RestartDeliveries :exec
-- Restarts failed deliveries with their first attempt; next_id is '' for the last one of a subject.
UPDATE webhook_deliveries d SET status = 'pending', tries = 0, next_attempt_at = @now::timestamptz, retry_at = NULL, next_id = nullif(m.next_id, '')
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@next_ids::text[]) AS next_id) m
WHERE d.tenant_id = @tenant_id AND d.id = m.id AND d.status = 'failed';

-- name: RequestRetry :exec
UPDATE webhook_deliveries SET retry_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: DropRetry :exec
UPDATE webhook_deliveries SET retry_at = NULL WHERE tenant_id = @tenant_id AND id = @id;

-- name: RecordRetry :exec
-- Records an attempt outside the schedule: only a success changes how the schedule continues.
UPDATE webhook_deliveries SET attempts = attempts + 1, retry_at = NULL, response_status = @response_status,
    response_body = @response_body, duration_ms = @duration_ms, error = @error, log = CASE WHEN jsonb_array_length(log) >= 50 THEN log - 0 ELSE log END || @entry::jsonb,
    status = CASE WHEN @arrived::boolean THEN 'delivered' ELSE status END,
    next_attempt_at = CASE WHEN @arrived THEN NULL ELSE next_attempt_at END,
    delivered_at = CASE WHEN @arrived THEN coalesce(delivered_at, @now::timestamptz) ELSE delivered_at END
WHERE tenant_id = @tenant_id AND id = @id AND retry_at IS NOT NULL;

-- name: DeleteDeliveriesBefore :execrows
-- @sqlc-vet-disable tenant
-- Deletes the oldest finished deliveries, max_rows at most: one statement must not take long.
DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(
    SELECT d.id FROM webhook_deliveries d WHERE d.created_at < @before AND d.status IN ('delivered', 'failed')
    AND d.tenant_id <> ALL (ARRAY(SELECT held_tenants()))
    ORDER BY d.created_at LIMIT @max_rows));

-- name: ListPlatformDeliveries :many
-- @sqlc-vet-disable tenant
-- The newest deliveries of all tenants, for operators.
SELECT sqlc.embed(d), e.event, t.name AS tenant_name, w.url FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
JOIN tenants t ON t.id = d.tenant_id JOIN webhook_endpoints w ON w.id = d.endpoint_id ORDER BY d.id DESC LIMIT @max_rows;

-- name: ListPlatformDeliveriesByStatus :many
-- @sqlc-vet-disable tenant
-- The newest deliveries of all tenants that have not arrived, with the status that tenants see, for operators.
WITH page AS MATERIALIZED (
    SELECT o.id FROM webhook_deliveries o
    WHERE CASE WHEN o.retry_at IS NULL THEN o.status ELSE 'retrying' END = @status::text AND (o.status <> 'delivered' OR o.retry_at IS NOT NULL)
    ORDER BY o.id COLLATE "C" DESC LIMIT @max_rows
)
SELECT sqlc.embed(d), e.event, t.name AS tenant_name, w.url FROM page JOIN webhook_deliveries d ON d.id = page.id JOIN events e ON e.id = d.event_id
JOIN tenants t ON t.id = d.tenant_id JOIN webhook_endpoints w ON w.id = d.endpoint_id ORDER BY d.id DESC;

-- name: ListPlatformArrivals :many
-- @sqlc-vet-disable tenant
-- The newest deliveries of all tenants that have arrived, for operators.
WITH page AS MATERIALIZED (
    SELECT o.id FROM webhook_deliveries o
    WHERE o.status = 'delivered' AND o.status IN ('delivered', 'failed') AND o.retry_at IS NULL ORDER BY o.created_at DESC LIMIT @max_rows
)
SELECT sqlc.embed(d), e.event, t.name AS tenant_name, w.url FROM page JOIN webhook_deliveries d ON d.id = page.id JOIN events e ON e.id = d.event_id
JOIN tenants t ON t.id = d.tenant_id JOIN webhook_endpoints w ON w.id = d.endpoint_id ORDER BY d.id DESC;

-- name: CountUnarrivedDeliveries :many
-- @sqlc-vet-disable tenant
-- The deliveries of all tenants since an id that have not arrived, by the status that tenants see, for operators.
SELECT s.status::text AS status, (SELECT count(*) FROM webhook_deliveries d
    WHERE CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END = s.status AND (d.status <> 'delivered' OR d.retry_at IS NOT NULL)
      AND d.id COLLATE "C" >= @first_id) AS n
FROM unnest(ARRAY['pending', 'retrying', 'failed']) AS s (status);

-- name: FindOldestDueAttempt :one
-- @sqlc-vet-disable tenant
-- When the oldest attempt of all tenants was due, for operators.
SELECT d.next_attempt_at::timestamptz AS at FROM webhook_deliveries d WHERE d.next_attempt_at < @now::timestamptz ORDER BY d.next_attempt_at LIMIT 1;

-- name: CountEndpointDeliveries :one
-- @sqlc-vet-disable tenant
-- Of an endpoint that admins see; max_rows at most.
SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = @endpoint_id LIMIT @max_rows) n;

-- name: ListEndpointDeliveries :many
-- @sqlc-vet-disable tenant
-- A page of the deliveries of an endpoint that admins see, newest first.
WITH page AS MATERIALIZED (
    SELECT o.id FROM webhook_deliveries o WHERE o.endpoint_id = @endpoint_id ORDER BY o.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(d), e.event, e.payload FROM page JOIN webhook_deliveries d ON d.id = page.id JOIN events e ON e.id = d.event_id ORDER BY d.id DESC;

-- name: FindDeliveryTenant :one
-- @sqlc-vet-disable tenant
-- For operators, who know only the id.
SELECT d.tenant_id, t.status FROM webhook_deliveries d JOIN tenants t ON t.id = d.tenant_id WHERE d.id = @id;
