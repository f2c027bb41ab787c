-- name: AddStreamHealth :exec
-- @sqlc-vet-disable tenant
-- A node writes the points of the streams of all tenants, and deletes those that are too old.
WITH old AS (
    DELETE FROM stream_health_points p WHERE p.stream_id = ANY (@stream_ids::text[]) AND p.at < @keep_since::timestamptz
)
INSERT INTO stream_health_points (stream_id, at, state, video_kbps, audio_kbps, fps, viewers)
SELECT n.stream_id, @at, n.state, n.video_kbps, n.audio_kbps, n.fps, n.viewers
FROM (SELECT unnest(@stream_ids::text[]) AS stream_id, unnest(@states::text[]) AS state, unnest(@video_kbps::integer[]) AS video_kbps,
    unnest(@audio_kbps::integer[]) AS audio_kbps, unnest(@fps::double precision[]) AS fps, unnest(@viewers::integer[]) AS viewers) n
ORDER BY n.stream_id
ON CONFLICT (stream_id, at) DO UPDATE SET state = excluded.state, video_kbps = excluded.video_kbps, audio_kbps = excluded.audio_kbps,
    fps = excluded.fps, viewers = excluded.viewers;

-- name: ListStreamHealth :many
-- @sqlc-vet-disable tenant
-- The points of a stream in the span before its newest one, newest first.
SELECT p.* FROM stream_health_points p
WHERE p.stream_id = @stream_id AND p.at > (SELECT max(n.at) FROM stream_health_points n WHERE n.stream_id = @stream_id) - @span::interval
ORDER BY p.at DESC LIMIT @max_rows;

-- name: DeleteStreamHealthBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM stream_health_points p USING (
    SELECT o.stream_id, o.at FROM stream_health_points o WHERE o.at < @before ORDER BY o.at LIMIT @max_rows) old
WHERE p.stream_id = old.stream_id AND p.at = old.at;

-- name: ShareStreamInspections :exec
-- @sqlc-vet-disable tenant
-- A node reports the streams of all tenants.
INSERT INTO stream_inspections (stream_id, node, seen_at, figures)
SELECT n.stream_id, @node, @now, n.figures::jsonb
FROM (SELECT unnest(@stream_ids::text[]) AS stream_id, unnest(@figures::text[]) AS figures) n
ORDER BY n.stream_id
ON CONFLICT (stream_id) DO UPDATE SET node = excluded.node, seen_at = excluded.seen_at, figures = excluded.figures;

-- name: GetStreamInspection :one
-- @sqlc-vet-disable tenant
-- The report of the node that has the stream.
SELECT i.* FROM stream_inspections i WHERE i.stream_id = @stream_id AND i.node = @node AND i.seen_at >= @since;

-- name: DeleteStreamInspectionsBefore :exec
-- @sqlc-vet-disable tenant
-- Deletes outdated reports of all tenants.
DELETE FROM stream_inspections WHERE seen_at < @before;
