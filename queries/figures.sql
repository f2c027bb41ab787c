-- name: CountSessions :many
SELECT date_trunc(@unit::text, created_at, 'UTC')::timestamptz AS at, count(*) AS sessions
FROM sessions
WHERE tenant_id = @tenant_id AND created_at >= @since::timestamptz AND created_at < @until::timestamptz
GROUP BY 1 ORDER BY 1;

-- name: SumSales :many
-- An order counts as sold from its payment on, even if it is refunded later. Counts the amount that the buyer was charged.
SELECT date_trunc(@unit::text, paid_at, 'UTC')::timestamptz AS at, lower(coalesce(paid_currency, currency))::text AS currency,
    count(*)::bigint AS orders, sum(coalesce(paid_cents, total_cents))::bigint AS total_cents
FROM orders
WHERE tenant_id = @tenant_id AND paid_at >= @since::timestamptz AND paid_at < @until::timestamptz
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: CountLiveSessions :one
SELECT count(*) FROM sessions WHERE tenant_id = @tenant_id AND state = 'live';

-- name: CountTenant :one
-- @sqlc-vet-disable tenant
-- Every subquery compares the tenant by its own column.
SELECT t.plan, t.status,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id) AS streams,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams,
    (SELECT count(*) FROM team_members u WHERE u.tenant_id = t.id) AS users,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL) AS endpoints,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL
        AND (w.status = 'disabled' OR w.failing_since IS NOT NULL)) AS failing
FROM tenants t WHERE t.id = @id;
