-- name: RecordAudience :exec
-- @sqlc-vet-disable tenant
-- The media plane knows only the stream's id; the stream's row names the tenant.
INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
SELECT s.tenant_id, s.id, @node::text, @hour::timestamptz, array_fill(n.viewers, ARRAY[1], ARRAY[@minute::integer])
FROM (SELECT unnest(@stream_ids::text[]) AS stream_id, unnest(@viewers::integer[]) AS viewers) n
JOIN streams s ON s.id = n.stream_id
WHERE s.status = 'LIVE'
ON CONFLICT (tenant_id, hour, stream_id, node) DO UPDATE
SET viewers[@minute::integer] = greatest(audience_hours.viewers[@minute::integer], excluded.viewers[@minute::integer]);

-- name: RecordServerAudience :exec
-- @sqlc-vet-disable tenant
-- The same for reports of SRS servers, for all tenants.
INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
SELECT s.tenant_id, s.id, 'srs', @hour::timestamptz,
    array_fill((SELECT count(*)::integer FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL), ARRAY[1], ARRAY[@minute::integer])
FROM streams s
WHERE s.status = 'LIVE' AND (
    EXISTS (SELECT 1 FROM publishers p WHERE p.stream_id = s.id AND p.source = 'srs' AND p.ended_at IS NULL)
    OR EXISTS (SELECT 1 FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL))
ON CONFLICT (tenant_id, hour, stream_id, node) DO UPDATE
SET viewers[@minute::integer] = greatest(audience_hours.viewers[@minute::integer], excluded.viewers[@minute::integer]);

-- name: CountViewers :one
-- The current number of viewers: the greater of this minute's and the last minute's samples.
SELECT coalesce(sum(greatest(n.now, n.before)), 0)::bigint FROM (
    SELECT max(a.viewers[@minute::integer]) FILTER (WHERE a.hour = @hour::timestamptz) AS now,
        max(a.viewers[@last_minute::integer]) FILTER (WHERE a.hour = @last_hour::timestamptz) AS before
    FROM audience_hours a JOIN streams s ON s.id = a.stream_id
    WHERE a.tenant_id = @tenant_id AND s.status = 'LIVE' AND a.hour IN (@hour::timestamptz, @last_hour::timestamptz)
    GROUP BY a.stream_id, a.node
) AS n;

-- name: DeleteAudienceBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM audience_hours WHERE ctid = ANY (ARRAY(SELECT a.ctid FROM audience_hours a WHERE a.hour < @before
    AND a.tenant_id <> ALL (ARRAY(SELECT held_tenants())) LIMIT @max_rows));

-- name: SumStreamAudience :one
-- The highest number of simultaneous players of a stream, and the minutes that all of them watched.
WITH minutes AS (
    SELECT a.hour, m.minute, sum(a.viewers[m.minute]) AS viewers
    FROM audience_hours a CROSS JOIN LATERAL generate_subscripts(a.viewers, 1) AS m (minute)
    WHERE a.tenant_id = @tenant_id AND a.stream_id = @stream_id GROUP BY a.hour, m.minute
)
SELECT coalesce(max(m.viewers), 0)::bigint AS peak_viewers, coalesce(sum(m.viewers), 0)::bigint AS watched_minutes FROM minutes m;
