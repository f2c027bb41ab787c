-- Figures that are counted from events, which name their tenant, when they
-- happened and what they are about.

-- name: CountSessionsAndOrders :many
SELECT date_trunc(@unit::text, occurred_at, 'UTC')::timestamptz AS at,
    count(DISTINCT subject) FILTER (WHERE event = 'session.created')::bigint AS sessions,
    count(DISTINCT subject) FILTER (WHERE event = 'purchase.completed')::bigint AS orders
FROM events
WHERE tenant_id = @tenant_id AND event IN ('session.created', 'purchase.completed')
  AND occurred_at >= @since::timestamptz AND occurred_at < @until::timestamptz
GROUP BY 1 ORDER BY 1;

-- name: SumRevenue :many
-- An order's event may have been written more than once; its first one counts.
WITH sales AS (
    SELECT DISTINCT ON (subject) subject, occurred_at,
        payload -> 'data' ->> 'currency' AS currency, (payload -> 'data' ->> 'totalCents')::bigint AS total_cents
    FROM events
    WHERE tenant_id = @tenant_id AND event = 'purchase.completed'
      AND occurred_at >= @since::timestamptz AND occurred_at < @until::timestamptz
    ORDER BY subject, id
)
SELECT date_trunc(@unit::text, occurred_at, 'UTC')::timestamptz AS at,
    lower(currency)::text AS currency, sum(total_cents)::bigint AS total_cents
FROM sales GROUP BY 1, 2 ORDER BY 1, 2;

-- name: CountLiveSessions :one
SELECT count(DISTINCT e.subject) FROM events e
WHERE e.tenant_id = @tenant_id AND e.event IN ('session.created', 'session.started') AND e.occurred_at >= @since::timestamptz
  AND (e.event = 'session.started' OR e.payload -> 'data' ->> 'state' = 'live')
  AND NOT EXISTS (
    SELECT 1 FROM events n WHERE n.tenant_id = @tenant_id AND n.subject = e.subject
      AND n.event IN ('session.ended', 'call.ended', 'call.declined') AND n.occurred_at >= e.occurred_at);

-- name: CountTenant :one
-- @sqlc-vet-disable tenant
-- Every part names the tenant by its own column.
SELECT t.plan, t.status,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id) AS streams,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams,
    (SELECT count(*) FROM users u WHERE u.tenant_id = t.id) AS users,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL) AS endpoints,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL
        AND (w.status = 'disabled' OR w.failing_since IS NOT NULL)) AS failing
FROM tenants t WHERE t.id = @id;
