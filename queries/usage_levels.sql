-- name: RaiseUsageLevels :exec
-- @sqlc-vet-disable tenant
-- Covers several tenants, in one order, so two writers can't deadlock.
INSERT INTO usage_levels (tenant_id, meter, hour, highest)
SELECT n.tenant_id, @meter, date_trunc('hour', @at::timestamptz, 'UTC'), n.level
FROM (SELECT unnest(@tenant_ids::text[]) AS tenant_id, unnest(@levels::bigint[]) AS level) n ORDER BY n.tenant_id
ON CONFLICT (tenant_id, meter, hour) DO UPDATE SET highest = excluded.highest WHERE usage_levels.highest < excluded.highest;

-- name: ListUsageLevels :many
-- @sqlc-vet-disable tenant
-- The highest levels of those tenants in whole hours, since one and before another one.
SELECT tenant_id, meter, max(highest)::bigint AS highest FROM usage_levels
WHERE tenant_id = ANY (@tenant_ids::text[]) AND hour >= @since::timestamptz AND hour < @until::timestamptz GROUP BY tenant_id, meter;

-- name: ListUsageLevelsOfTime :many
-- A tenant's highest levels by hour or day (UTC); unit is hour or day.
SELECT date_trunc(@unit::text, hour, 'UTC')::timestamptz AS at, meter, max(highest)::bigint AS highest FROM usage_levels
WHERE tenant_id = @tenant_id AND meter = ANY (@meters::text[]) AND hour >= @since::timestamptz AND hour < @until::timestamptz
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: ListUsingTenants :many
-- @sqlc-vet-disable tenant
-- The tenants after one that have used or stored something since an hour, in the order of their ids.
SELECT u.tenant_id FROM (
    SELECT h.tenant_id FROM usage_hours h WHERE h.hour >= @since::timestamptz AND h.tenant_id > @after::text
    UNION SELECT l.tenant_id FROM usage_levels l WHERE l.hour >= @since::timestamptz AND l.tenant_id > @after::text
) u ORDER BY u.tenant_id LIMIT @max_rows;
