-- name: CreateUsageIntervals :one
-- @sqlc-vet-disable tenant
-- Covers several tenants. Skips intervals that are already written, here and in the
-- hours' sums. Changes the sums in one order, so two writers can't deadlock.
WITH created AS (
    INSERT INTO usage_intervals (key, tenant_id, project_id, resource_id, meter, quality, from_at, to_at, amount)
    SELECT unnest(@keys::bytea[]), unnest(@tenant_ids::text[]), nullif(unnest(@project_ids::text[]), ''), unnest(@resource_ids::text[]),
        unnest(@meters::text[]), unnest(@qualities::text[]), unnest(@from_ats::timestamptz[]), unnest(@to_ats::timestamptz[]),
        unnest(@amounts::bigint[])
    ON CONFLICT (key) DO NOTHING
    RETURNING tenant_id, meter, from_at, amount
), summed AS (
    INSERT INTO usage_hours (tenant_id, meter, hour, amount)
    SELECT tenant_id, meter, date_trunc('hour', from_at, 'UTC'), sum(amount)
    FROM created GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (tenant_id, meter, hour) DO UPDATE SET amount = usage_hours.amount + excluded.amount
)
SELECT count(*) FROM created;

-- name: ListUsageOwners :many
-- @sqlc-vet-disable tenant
-- The tenants of these streams, sessions and recordings.
SELECT id, tenant_id, coalesce(project_id, '')::text AS project_id FROM streams WHERE id = ANY (@ids::text[])
UNION ALL
SELECT id, tenant_id, coalesce(project_id, '')::text AS project_id FROM sessions WHERE id = ANY (@ids::text[])
UNION ALL
SELECT r.id, r.tenant_id, coalesce(s.project_id, c.project_id, '')::text AS project_id
FROM recordings r LEFT JOIN streams s ON s.id = r.stream_id LEFT JOIN sessions c ON c.id = r.session_id
WHERE r.id = ANY (@ids::text[]);

-- name: SumUsage :many
-- Each meter's sum over intervals that begin at since or later and before until: whole
-- hours come from the hours' sums, partial hours at both ends from the intervals.
SELECT u.meter, sum(u.amount)::bigint AS amount
FROM (
    SELECT h.meter, h.amount FROM usage_hours h
    WHERE h.tenant_id = @tenant_id AND h.hour >= @first_hour::timestamptz AND h.hour < @last_hour::timestamptz
    UNION ALL
    SELECT i.meter, i.amount FROM usage_intervals i
    WHERE i.tenant_id = @tenant_id AND i.from_at >= @since::timestamptz AND i.from_at < @first_hour::timestamptz
    UNION ALL
    SELECT i.meter, i.amount FROM usage_intervals i
    WHERE i.tenant_id = @tenant_id AND i.from_at >= @last_hour::timestamptz AND i.from_at < @until::timestamptz
) u
GROUP BY u.meter;

-- name: DeleteUsageIntervalsBefore :execrows
-- @sqlc-vet-disable tenant
-- Covers all tenants, the oldest first: keys begin with from_at.
DELETE FROM usage_intervals WHERE key = ANY (ARRAY(SELECT i.key FROM usage_intervals i WHERE i.key < @before::bytea
    AND i.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY i.key LIMIT @max_rows));
