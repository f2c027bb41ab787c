-- name: ListTopUsage :many
-- @sqlc-vet-disable tenant
-- The tenants with the most bytes sent since an hour, for operators. Tenants that used nothing are left out.
SELECT t.id, t.name, t.plan, t.status
FROM (
    SELECT h.tenant_id, coalesce(sum(h.amount) FILTER (WHERE h.meter = 'EGRESS_BYTES'), 0) AS sent
    FROM usage_hours h WHERE h.hour >= @since::timestamptz AND h.tenant_id <> ''
    GROUP BY h.tenant_id ORDER BY sent DESC, h.tenant_id LIMIT @max_rows
) u JOIN tenants t ON t.id = u.tenant_id
ORDER BY u.sent DESC, t.id;

-- name: SumUsageOfTenants :many
-- @sqlc-vet-disable tenant
-- The usage of those tenants, for operators.
SELECT tenant_id, meter, sum(amount)::bigint AS amount
FROM usage_hours WHERE tenant_id = ANY (@tenant_ids::text[]) AND hour >= @since::timestamptz
GROUP BY tenant_id, meter;

-- name: ListUsageOfHours :many
-- A tenant's sums by hour.
SELECT hour, meter, amount FROM usage_hours
WHERE tenant_id = @tenant_id AND meter = ANY (@meters::text[]) AND hour >= @since::timestamptz AND hour < @until::timestamptz
ORDER BY hour, meter;
