-- name: SumFigures :many
-- For each hour or day with samples or sessions: the highest number of simultaneous viewers over all streams, the number of sessions, the
-- minutes watched on SRS servers, and the minutes on air of streams that only they have. Closed hours come from their sums.
WITH later AS (
    SELECT greatest(u.until, @since::timestamptz) AS start FROM summed_until u WHERE u.name = 'figures'
), audience AS (
    SELECT a.hour, generate_subscripts(a.viewers, 1) AS minute, unnest(a.viewers) AS viewers FROM audience_hours a
    WHERE a.tenant_id = @tenant_id AND a.hour >= (SELECT l.start FROM later l) AND a.hour < @until::timestamptz
), figures AS (
    SELECT f.hour, f.peak_viewers, f.sessions, f.srs_watched_minutes, f.srs_live_minutes FROM figure_hours f
    WHERE f.tenant_id = @tenant_id AND f.hour >= @since::timestamptz AND f.hour < @until::timestamptz
    UNION ALL
    SELECT a.hour, sum(a.viewers), 0, 0, 0 FROM audience a WHERE a.viewers IS NOT NULL GROUP BY a.hour, a.minute
    UNION ALL
    SELECT date_trunc('hour', s.created_at, 'UTC'), 0, count(*), 0, 0 FROM sessions s
    WHERE s.tenant_id = @tenant_id AND s.created_at >= (SELECT l.start FROM later l) AND s.created_at < @until::timestamptz GROUP BY 1
    UNION ALL
    SELECT h.hour, 0, 0, h.watched_minutes, h.live_minutes FROM srs_hours h
    WHERE h.tenant_id = @tenant_id AND h.hour >= (SELECT l.start FROM later l) AND h.hour < @until::timestamptz
    UNION ALL
    SELECT f.hour, 0, 0, h.watched_minutes, h.live_minutes FROM figure_hours f CROSS JOIN LATERAL (
        SELECT sum(s.watched_minutes) AS watched_minutes, sum(s.live_minutes) AS live_minutes FROM srs_hours s
        WHERE s.tenant_id = @tenant_id AND s.hour = f.hour) h
    WHERE f.tenant_id = @tenant_id AND f.hour >= @since::timestamptz AND f.hour < @until::timestamptz AND f.srs_watched_minutes IS NULL
        AND f.live_minutes > 0
)
SELECT date_trunc(@unit::text, f.hour, 'UTC')::timestamptz AS at, max(f.peak_viewers)::bigint AS peak_viewers,
    sum(f.sessions)::bigint AS sessions, coalesce(sum(f.srs_watched_minutes), 0)::bigint AS srs_watched_minutes,
    coalesce(sum(f.srs_live_minutes), 0)::bigint AS srs_live_minutes
FROM figures f GROUP BY 1 ORDER BY 1;

-- name: SumSales :many
-- An order counts as sold from its payment on, even if it is refunded later. Counts the amount that the buyer was charged.
SELECT date_trunc(@unit::text, s.hour, 'UTC')::timestamptz AS at, s.currency::text AS currency, sum(s.orders)::bigint AS orders,
    sum(s.total_cents)::bigint AS total_cents
FROM (
    SELECT h.hour, h.currency, h.orders, h.total_cents FROM sales_hours h
    WHERE h.tenant_id = @tenant_id AND h.hour >= @since::timestamptz AND h.hour < @until::timestamptz
    UNION ALL
    SELECT date_trunc('hour', o.paid_at, 'UTC'), lower(coalesce(o.paid_currency, o.currency)), count(*), sum(coalesce(o.paid_cents, o.total_cents))
    FROM orders o
    WHERE o.tenant_id = @tenant_id AND o.paid_at < @until::timestamptz
      AND o.paid_at >= (SELECT greatest(u.until, @since::timestamptz) FROM summed_until u WHERE u.name = 'figures')
    GROUP BY 1, 2
) s
GROUP BY 1, 2 ORDER BY 1, 2;

-- name: FindFirstFigure :one
-- @sqlc-vet-disable tenant
-- The time of the first sample, session or payment of all tenants at or after a time; the last time if there is none before it.
-- Reads one entry of an index for each tenant.
SELECT least(
    (SELECT min(a.hour) FROM audience_hours a WHERE a.hour >= @since::timestamptz),
    min(s.at), min(o.at), @until::timestamptz)::timestamptz AS at
FROM tenants t
LEFT JOIN LATERAL (
    SELECT x.created_at AS at FROM sessions x WHERE x.tenant_id = t.id AND x.created_at >= @since::timestamptz ORDER BY x.created_at LIMIT 1) s ON true
LEFT JOIN LATERAL (
    SELECT x.paid_at AS at FROM orders x WHERE x.tenant_id = t.id AND x.paid_at >= @since::timestamptz ORDER BY x.paid_at LIMIT 1) o ON true;

-- name: WriteFigureHours :exec
-- @sqlc-vet-disable tenant
-- Sums these hours of all tenants. The loop over the tenants reads their rows by an index that begins with the tenant. live_minutes
-- marks the hours with samples: the retention (DeleteFigureHoursBefore, ClearAudienceOfHoursBefore) finds them by
-- figure_hours_audience_idx. watched_minutes is only for servers of a former version.
WITH samples AS (
    SELECT a.tenant_id, a.hour, a.stream_id, m.minute, a.viewers[m.minute] AS viewers
    FROM audience_hours a CROSS JOIN LATERAL generate_subscripts(a.viewers, 1) AS m (minute)
    WHERE a.hour >= @since::timestamptz AND a.hour < @until::timestamptz
), minutes AS (
    SELECT s.tenant_id, s.hour, sum(s.viewers) AS viewers, count(DISTINCT s.stream_id) AS live
    FROM samples s WHERE s.viewers IS NOT NULL GROUP BY s.tenant_id, s.hour, s.minute
), figures AS (
    SELECT m.tenant_id, m.hour, m.viewers, m.live, 0 AS sessions, 0 AS srs_watched, 0 AS srs_live FROM minutes m
    UNION ALL
    SELECT h.tenant_id, h.hour, 0, 0, 0, h.watched_minutes, h.live_minutes FROM srs_hours h
    WHERE h.hour >= @since::timestamptz AND h.hour < @until::timestamptz
    UNION ALL
    SELECT t.id, s.hour, 0, 0, s.sessions, 0, 0 FROM tenants t CROSS JOIN LATERAL (
        SELECT date_trunc('hour', x.created_at, 'UTC') AS hour, count(*) AS sessions FROM sessions x
        WHERE x.tenant_id = t.id AND x.created_at >= @since::timestamptz AND x.created_at < @until::timestamptz GROUP BY 1) s
)
INSERT INTO figure_hours (tenant_id, hour, peak_viewers, watched_minutes, live_minutes, sessions, srs_watched_minutes, srs_live_minutes)
SELECT f.tenant_id, f.hour, max(f.viewers), sum(f.viewers), sum(f.live), sum(f.sessions), sum(f.srs_watched), sum(f.srs_live)
FROM figures f GROUP BY 1, 2;

-- name: FillSRSMinutes :execrows
-- @sqlc-vet-disable tenant
-- Sums the minutes on SRS servers of hours that a server of a former version has summed.
-- An hour without minutes on air has no minutes on SRS servers, or the retention has cleared it.
UPDATE figure_hours f SET srs_watched_minutes = coalesce(h.watched, 0), srs_live_minutes = coalesce(h.live, 0)
FROM (
    SELECT n.tenant_id, n.hour, n.live_minutes FROM figure_hours n
    WHERE n.srs_watched_minutes IS NULL LIMIT @max_rows FOR UPDATE SKIP LOCKED) o
CROSS JOIN LATERAL (
    SELECT sum(s.watched_minutes) AS watched, sum(s.live_minutes) AS live FROM srs_hours s
    WHERE s.tenant_id = o.tenant_id AND s.hour = o.hour AND o.live_minutes > 0) h
WHERE f.tenant_id = o.tenant_id AND f.hour = o.hour;

-- name: WriteSalesHours :exec
-- @sqlc-vet-disable tenant
-- Sums these hours of all tenants, as WriteFigureHours does.
INSERT INTO sales_hours (tenant_id, hour, currency, orders, total_cents)
SELECT t.id, s.hour, s.currency, s.orders, s.total_cents FROM tenants t CROSS JOIN LATERAL (
    SELECT date_trunc('hour', o.paid_at, 'UTC') AS hour, lower(coalesce(o.paid_currency, o.currency)) AS currency, count(*) AS orders,
        sum(coalesce(o.paid_cents, o.total_cents)) AS total_cents
    FROM orders o WHERE o.tenant_id = t.id AND o.paid_at >= @since::timestamptz AND o.paid_at < @until::timestamptz GROUP BY 1, 2) s;

-- name: DeleteFigureHoursBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes hours in which no session was created.
DELETE FROM figure_hours WHERE ctid = ANY (ARRAY(
    SELECT f.ctid FROM figure_hours f WHERE f.live_minutes > 0 AND f.hour < @before AND f.sessions = 0 LIMIT @max_rows));

-- name: ClearAudienceOfHoursBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. The number of sessions is kept forever.
UPDATE figure_hours
SET peak_viewers = 0, watched_minutes = 0, live_minutes = 0, srs_watched_minutes = 0, srs_live_minutes = 0
WHERE ctid = ANY (ARRAY(
    SELECT f.ctid FROM figure_hours f WHERE f.live_minutes > 0 AND f.hour < @before AND f.sessions > 0 LIMIT @max_rows));

-- name: CountLiveSessions :one
SELECT count(*) FROM sessions WHERE tenant_id = @tenant_id AND state = 'live';

-- name: CountTenant :one
-- @sqlc-vet-disable tenant
-- Every subquery compares the tenant by its own column.
SELECT t.plan, t.status,
    (SELECT coalesce(sum(c.n), 0) FROM row_numbers c WHERE c.scope = 'streams' AND c.key = t.id)::bigint AS streams,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = t.id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams,
    (SELECT coalesce(sum(c.n), 0) FROM row_numbers c WHERE c.scope = 'team' AND c.key = t.id)::bigint AS users,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL) AS endpoints,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = t.id AND w.deleted_at IS NULL
        AND (w.status = 'disabled' OR w.failing_since IS NOT NULL)) AS failing
FROM tenants t WHERE t.id = @id;
