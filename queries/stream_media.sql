-- name: ShareStreamMedia :exec
-- @sqlc-vet-disable tenant
-- A node reports the streams of all tenants.
INSERT INTO stream_media (stream_id, node, seen_at, viewers, video_kbps, audio_kbps, fps, width, height, video_codec, audio_codec,
    b_frames, key_interval_ms, ladder)
SELECT n.stream_id, @node, @now, n.viewers, n.video_kbps, n.audio_kbps, n.fps, n.width, n.height, n.video_codec, n.audio_codec,
    n.b_frames, n.key_interval_ms, n.ladder
FROM (SELECT unnest(@stream_ids::text[]) AS stream_id, unnest(@viewers::integer[]) AS viewers, unnest(@video_kbps::integer[]) AS video_kbps,
    unnest(@audio_kbps::integer[]) AS audio_kbps, unnest(@fps::double precision[]) AS fps, unnest(@widths::integer[]) AS width,
    unnest(@heights::integer[]) AS height, unnest(@video_codecs::text[]) AS video_codec, unnest(@audio_codecs::text[]) AS audio_codec,
    unnest(@b_frames::boolean[]) AS b_frames, unnest(@key_interval_ms::integer[]) AS key_interval_ms,
    unnest(@ladders::text[]) AS ladder) n
ORDER BY n.stream_id
ON CONFLICT (stream_id) DO UPDATE SET node = excluded.node, seen_at = excluded.seen_at, viewers = excluded.viewers,
    video_kbps = excluded.video_kbps, audio_kbps = excluded.audio_kbps, fps = excluded.fps, width = excluded.width,
    height = excluded.height, video_codec = excluded.video_codec, audio_codec = excluded.audio_codec, b_frames = excluded.b_frames,
    key_interval_ms = excluded.key_interval_ms, ladder = excluded.ladder;

-- name: ListStreamMedia :many
-- The nodes' reports about the tenant's streams since a time, except about streams that another node has meanwhile.
SELECT m.* FROM stream_media m JOIN streams s ON s.id = m.stream_id AND s.node = m.node
WHERE s.tenant_id = @tenant_id AND m.stream_id = ANY (@ids::text[]) AND m.seen_at >= @since;

-- name: DeleteStreamMediaBefore :exec
-- @sqlc-vet-disable tenant
-- Deletes outdated reports of all tenants.
DELETE FROM stream_media WHERE seen_at < @before;
