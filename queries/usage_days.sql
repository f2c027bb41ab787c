-- name: ListUsageOfDays :many
-- A tenant's sums by day.
SELECT day, meter, sum(amount)::bigint AS amount FROM usage_days
WHERE tenant_id = @tenant_id AND meter = ANY (@meters::text[]) AND day >= @since::timestamptz AND day < @until::timestamptz
GROUP BY day, meter ORDER BY day, meter;

-- name: ListTrafficOfDays :many
-- @sqlc-vet-disable tenant
-- The bytes of all tenants by day, for operators.
SELECT day, meter, kind, sum(amount)::bigint AS amount FROM usage_days
WHERE day >= @since::timestamptz AND day < @until::timestamptz AND meter = ANY (@meters::text[])
GROUP BY day, meter, kind ORDER BY day, meter, kind;

-- name: ListTrafficOfTenants :many
-- @sqlc-vet-disable tenant
-- The tenants with the most bytes sent by servers and CDNs, with the sum over all tenants, for operators. EGRESS_BYTES contains CDN_BYTES.
SELECT u.tenant_id, t.name, t.plan, u.received, u.sent, u.delivered, u.total
FROM (
    SELECT s.tenant_id, s.received, s.sent, s.delivered, (sum(s.sent + s.delivered) OVER ())::bigint AS total
    FROM (
        SELECT d.tenant_id,
            coalesce(sum(d.amount) FILTER (WHERE d.meter = 'INGRESS_BYTES'), 0)::bigint AS received,
            coalesce(sum(CASE d.meter WHEN 'CDN_BYTES' THEN -d.amount ELSE d.amount END)
                FILTER (WHERE d.meter IN ('EGRESS_BYTES', 'CDN_BYTES', 'CDN_FILL_BYTES', 'RESTREAM_BYTES')), 0)::bigint AS sent,
            coalesce(sum(d.amount) FILTER (WHERE d.meter = 'CDN_BYTES'), 0)::bigint AS delivered
        FROM usage_days d
        WHERE d.day >= @since::timestamptz AND d.day < @until::timestamptz AND d.tenant_id <> ''
            AND d.meter IN ('INGRESS_BYTES', 'EGRESS_BYTES', 'CDN_BYTES', 'CDN_FILL_BYTES', 'RESTREAM_BYTES')
        GROUP BY d.tenant_id
    ) s
) u JOIN tenants t ON t.id = u.tenant_id
ORDER BY u.sent + u.delivered DESC, u.tenant_id LIMIT @max_rows;

-- name: SumUsageByPlan :many
-- @sqlc-vet-disable tenant
-- The usage of all tenants since a day by their present plan, for the platform's operators.
SELECT t.plan, d.meter, sum(d.amount)::bigint AS amount FROM usage_days d JOIN tenants t ON t.id = d.tenant_id
WHERE d.day >= @since::timestamptz AND d.meter = ANY (@meters::text[]) GROUP BY 1, 2;
