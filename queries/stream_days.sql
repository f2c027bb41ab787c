-- name: WriteStreamDay :exec
-- @sqlc-vet-disable tenant
-- Adds the audience of the hours in [since, until) of one day to the day, over all tenants. streams and tenants are counted over the whole day.
WITH minutes AS (
    SELECT sum(a.viewers[m.minute]) AS viewers, count(DISTINCT a.stream_id) AS streams
    FROM audience_hours a CROSS JOIN LATERAL generate_subscripts(a.viewers, 1) AS m (minute)
    WHERE a.hour >= @since::timestamptz AND a.hour < @until::timestamptz AND a.viewers[m.minute] IS NOT NULL
    GROUP BY a.hour, m.minute
)
INSERT INTO stream_days (day, peak_streams, peak_viewers, streams, tenants, live, watched)
SELECT @day::timestamptz, coalesce((SELECT max(m.streams) FROM minutes m), 0), coalesce((SELECT max(m.viewers) FROM minutes m), 0),
    count(DISTINCT a.stream_id), count(DISTINCT a.tenant_id), 0, 0
FROM audience_hours a WHERE a.hour >= @day::timestamptz AND a.hour < @until::timestamptz
ON CONFLICT (day) DO UPDATE SET peak_streams = greatest(stream_days.peak_streams, excluded.peak_streams),
    peak_viewers = greatest(stream_days.peak_viewers, excluded.peak_viewers), streams = excluded.streams, tenants = excluded.tenants;

-- name: WriteStreamMinutes :exec
-- @sqlc-vet-disable tenant
-- Sets the seconds on air and watched of the days since a day, over all tenants.
INSERT INTO stream_days (day, peak_streams, peak_viewers, streams, tenants, live, watched)
SELECT u.day, 0, 0, 0, 0, coalesce(sum(u.amount) FILTER (WHERE u.meter = 'STREAM_MINUTES'), 0),
    coalesce(sum(u.amount) FILTER (WHERE u.meter = 'VIEWER_MINUTES'), 0)
FROM usage_days u WHERE u.day >= @since::timestamptz AND u.meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES') GROUP BY u.day
ON CONFLICT (day) DO UPDATE SET live = excluded.live, watched = excluded.watched;

-- name: ListStreamDays :many
-- @sqlc-vet-disable tenant
-- For operators.
SELECT * FROM stream_days WHERE day >= @since::timestamptz ORDER BY day;

-- name: SumStreamMinutes :many
-- @sqlc-vet-disable tenant
-- The seconds on air and watched of the days since a day, over all tenants, for operators.
SELECT u.day, coalesce(sum(u.amount) FILTER (WHERE u.meter = 'STREAM_MINUTES'), 0)::bigint AS live,
    coalesce(sum(u.amount) FILTER (WHERE u.meter = 'VIEWER_MINUTES'), 0)::bigint AS watched
FROM usage_days u WHERE u.day >= @since::timestamptz AND u.meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES') GROUP BY 1;

-- name: ListTopWatched :many
-- @sqlc-vet-disable tenant
-- The tenants with the most viewing since a day, for operators.
SELECT u.tenant_id, sum(u.amount)::bigint AS watched FROM usage_days u
WHERE u.meter = 'VIEWER_MINUTES' AND u.day >= @since::timestamptz AND u.tenant_id <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT @max_rows;

-- name: SumReportedUsage :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants.
SELECT u.tenant_id, u.meter, sum(u.amount)::bigint AS amount FROM usage_days u
WHERE u.tenant_id = ANY (@tenant_ids::text[]) AND u.meter = ANY (@meters::text[]) AND u.day >= @since::timestamptz GROUP BY 1, 2;

-- name: ListPeakViewers :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants.
SELECT f.tenant_id, max(f.peak_viewers)::bigint AS peak_viewers FROM figure_hours f
WHERE f.tenant_id = ANY (@tenant_ids::text[]) AND f.hour >= @since::timestamptz GROUP BY 1;
