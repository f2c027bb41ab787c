-- name: ListActivity :many
-- @sqlc-vet-disable tenant
-- Counts what began in [since, until) by tenant, area and hour, for operators. Ids follow the time of creation, so the primary keys find
-- the rows: first_time and end_time are ids without a prefix, of times around the range.
SELECT a.tenant_id, a.area::text AS area, date_trunc('hour', a.at, 'UTC')::timestamptz AS hour, sum(a.n)::bigint AS n, max(a.at)::timestamptz AS last_at
FROM (
    SELECT e.tenant_id, CASE e.event WHEN 'stream.started' THEN 'STREAMS' WHEN 'restream.started' THEN 'RESTREAMS' ELSE 'ORDERS' END AS area,
        e.occurred_at AS at, 1 AS n
    FROM events e WHERE e.occurred_at >= @since::timestamptz AND e.occurred_at < @until::timestamptz AND e.endpoint_id IS NULL
        AND e.event IN ('stream.started', 'restream.started', 'purchase.completed')
    UNION ALL
    SELECT s.tenant_id, CASE s.type WHEN 'call' THEN 'CALLS' ELSE 'SESSIONS' END, s.created_at, 1 FROM sessions s
    WHERE s.id >= 'sess_' || @first_time::text AND s.id < 'sess_' || @end_time::text AND s.parent_session_id IS NULL
        AND s.created_at >= @since::timestamptz AND s.created_at < @until::timestamptz
    UNION ALL
    SELECT m.tenant_id, 'CHAT', m.created_at, 1 FROM channel_messages m
    WHERE m.id >= 'msg_' || @first_time::text AND m.id < 'msg_' || @end_time::text
        AND m.created_at >= @since::timestamptz AND m.created_at < @until::timestamptz
    UNION ALL
    SELECT r.tenant_id, 'RECORDINGS', r.created_at, 1 FROM recordings r
    WHERE r.created_at >= @since::timestamptz AND r.created_at < @until::timestamptz
    UNION ALL
    SELECT b.tenant_id, 'AUCTIONS', b.created_at, 1 FROM auctions b
    WHERE b.id >= 'auc_' || @first_time::text AND b.id < 'auc_' || @end_time::text
        AND b.created_at >= @since::timestamptz AND b.created_at < @until::timestamptz
    UNION ALL
    SELECT p.tenant_id, 'PUSHES', p.created_at, p.attempted FROM push_notifications p
    WHERE p.created_at >= @since::timestamptz AND p.created_at < @until::timestamptz
    UNION ALL
    SELECT d.tenant_id, 'DELIVERIES', d.created_at, 1 FROM webhook_deliveries d
    WHERE d.id >= 'del_' || @first_time::text AND d.id < 'del_' || @end_time::text
        AND d.created_at >= @since::timestamptz AND d.created_at < @until::timestamptz
) a GROUP BY 1, 2, 3;

-- name: FindFirstActivity :one
-- @sqlc-vet-disable tenant
-- The time of the first row of ListActivity or of the audience at or after a time, or a little before it; the last time if there is none
-- before it.
SELECT least(@until::timestamptz,
    (SELECT min(e.occurred_at) FROM events e WHERE e.occurred_at >= @since::timestamptz),
    (SELECT s.created_at FROM sessions s WHERE s.id >= 'sess_' || @first_time::text ORDER BY s.id LIMIT 1),
    (SELECT m.created_at FROM channel_messages m WHERE m.id >= 'msg_' || @first_time::text ORDER BY m.id LIMIT 1),
    (SELECT min(r.created_at) FROM recordings r WHERE r.created_at >= @since::timestamptz),
    (SELECT b.created_at FROM auctions b WHERE b.id >= 'auc_' || @first_time::text ORDER BY b.id LIMIT 1),
    (SELECT min(p.created_at) FROM push_notifications p WHERE p.created_at >= @since::timestamptz),
    (SELECT d.created_at FROM webhook_deliveries d WHERE d.id >= 'del_' || @first_time::text ORDER BY d.id LIMIT 1),
    (SELECT min(a.hour) FROM audience_hours a WHERE a.hour >= @since::timestamptz))::timestamptz AS at;

-- name: AddActivityHours :exec
-- @sqlc-vet-disable tenant
INSERT INTO activity_hours (area, hour, n)
SELECT u.area, u.hour, sum(u.n) FROM (SELECT unnest(@areas::text[]) AS area, unnest(@hours::timestamptz[]) AS hour, unnest(@ns::bigint[]) AS n) u
GROUP BY 1, 2
ON CONFLICT (area, hour) DO UPDATE SET n = activity_hours.n + excluded.n;

-- name: AddActivityDays :exec
INSERT INTO activity_days (tenant_id, day, area, n, last_at)
SELECT u.tenant_id, @day::timestamptz, u.area, sum(u.n), max(u.last_at) FROM (
    SELECT unnest(@tenant_ids::text[]) AS tenant_id, unnest(@areas::text[]) AS area, unnest(@ns::bigint[]) AS n, unnest(@last_ats::timestamptz[]) AS last_at) u
GROUP BY 1, 3
ON CONFLICT (tenant_id, day, area) DO UPDATE SET n = activity_days.n + excluded.n, last_at = greatest(activity_days.last_at, excluded.last_at);

-- name: GetActivityMark :one
-- @sqlc-vet-disable tenant
SELECT u.until FROM summed_until u WHERE u.name = 'activity';

-- name: SumActivityHours :many
-- @sqlc-vet-disable tenant
-- The sums of each area over three periods, for operators.
SELECT h.area, coalesce(sum(h.n) FILTER (WHERE h.hour >= @day::timestamptz), 0)::bigint AS last_day,
    coalesce(sum(h.n) FILTER (WHERE h.hour >= @week::timestamptz), 0)::bigint AS last_week, sum(h.n)::bigint AS last_month
FROM activity_hours h WHERE h.hour >= @month::timestamptz GROUP BY 1;

-- name: SumActivityByDay :many
-- @sqlc-vet-disable tenant
-- The sums of an area by day, for operators.
SELECT date_trunc('day', h.hour, 'UTC')::timestamptz AS day, sum(h.n)::bigint AS n FROM activity_hours h
WHERE h.area = @area AND h.hour >= @since::timestamptz GROUP BY 1 ORDER BY 1;

-- name: ListActiveTenants :many
-- @sqlc-vet-disable tenant
-- The tenants that were active since a time, for operators.
SELECT DISTINCT a.tenant_id FROM activity_days a WHERE a.day >= @day::timestamptz AND a.last_at >= @since::timestamptz;

-- name: SumActivityOfTenants :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants. last_at is null if nothing was kept.
SELECT a.tenant_id, a.area, coalesce(sum(a.n) FILTER (WHERE a.day >= @since::timestamptz), 0)::bigint AS n, max(a.last_at)::timestamptz AS last_at
FROM activity_days a WHERE a.tenant_id = ANY (@tenant_ids::text[]) GROUP BY 1, 2;

-- name: CountActiveNow :one
-- @sqlc-vet-disable tenant
-- Numbers of present activities of all tenants, for operators.
SELECT (SELECT count(*) FROM streams s WHERE s.status IN ('LIVE', 'RECONNECTING')) AS streams,
    (SELECT count(*) FROM sessions s WHERE s.state = 'live' AND s.state IN ('waiting', 'live') AND s.type <> 'call') AS sessions,
    (SELECT count(*) FROM sessions s WHERE s.state = 'live' AND s.type = 'call') AS calls,
    (SELECT coalesce(sum(s.present), 0) FROM sessions s WHERE s.state = 'live' AND s.state IN ('waiting', 'live'))::bigint AS participants,
    (SELECT count(*) FROM recordings r WHERE r.status = 'RECORDING') AS recordings,
    (SELECT count(*) FROM auctions a WHERE a.status = 'LIVE') AS auctions,
    (SELECT count(*) FROM restream_routes r WHERE r.status = 'live' AND r.status IN ('pending', 'live')) AS restreams;

-- name: CountPlatformViewers :one
-- @sqlc-vet-disable tenant
-- As CountViewers, over all tenants, for operators.
SELECT coalesce(sum(greatest(n.now, n.before)), 0)::bigint FROM (
    SELECT max(a.viewers[@minute::integer]) FILTER (WHERE a.hour = @hour::timestamptz) AS now,
        max(a.viewers[@last_minute::integer]) FILTER (WHERE a.hour = @last_hour::timestamptz) AS before
    FROM audience_hours a JOIN streams s ON s.id = a.stream_id
    WHERE s.status = 'LIVE' AND a.hour IN (@hour::timestamptz, @last_hour::timestamptz)
    GROUP BY a.stream_id, a.node
) AS n;

-- name: GetKeptNumber :one
-- @sqlc-vet-disable tenant
-- For operators.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c WHERE c.scope = @scope AND c.key = @key;

-- name: CountTenantsSince :one
-- @sqlc-vet-disable tenant
-- For operators.
SELECT count(*) FROM tenants t WHERE t.created_at >= @since::timestamptz AND t.created_at < @until::timestamptz;

-- name: CountTenantsByDay :many
-- @sqlc-vet-disable tenant
-- The new tenants of each day, for operators.
SELECT date_trunc('day', t.created_at, 'UTC')::timestamptz AS day, count(*) AS n FROM tenants t WHERE t.created_at >= @since::timestamptz GROUP BY 1;

-- name: CountTenantActionsByDay :many
-- @sqlc-vet-disable tenant
-- Suspensions and cancellations of tenants by day, for operators. Both are rare, and found by the action.
SELECT e.action, date_trunc('day', e.at, 'UTC')::timestamptz AS day, count(*) AS n FROM audit_entries e
WHERE e.action IN ('tenant.suspend', 'tenant.cancel') AND e.at >= @since::timestamptz GROUP BY 1, 2;

-- name: ListReportTenants :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants. Newest first.
SELECT t.id, t.name, t.plan, t.status FROM tenants t WHERE t.id = ANY (@ids::text[]) ORDER BY t.created_at DESC, t.id DESC;

-- name: DeleteActivityHoursBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM activity_hours WHERE ctid = ANY (ARRAY(SELECT h.ctid FROM activity_hours h WHERE h.hour < @before::timestamptz LIMIT @max_rows));

-- name: DeleteActivityDaysBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM activity_days WHERE ctid = ANY (ARRAY(
    SELECT a.ctid FROM activity_days a WHERE a.day < @before::timestamptz ORDER BY a.day LIMIT @max_rows));
