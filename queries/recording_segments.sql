-- name: CreateInits :exec
INSERT INTO recording_inits (recording_id, take, init, tenant_id, codecs, width, height, frame_rate, video_bytes, audio_bytes)
SELECT @recording_id, @take, n.init, @tenant_id, n.codecs, n.width, n.height, n.frame_rate, n.video_bytes, n.audio_bytes
FROM (SELECT unnest(@inits::integer[]) AS init, unnest(@codecs::text[]) AS codecs, unnest(@widths::integer[]) AS width,
    unnest(@heights::integer[]) AS height, unnest(@frame_rates::double precision[]) AS frame_rate,
    unnest(@video_bytes::bigint[]) AS video_bytes, unnest(@audio_bytes::bigint[]) AS audio_bytes) n
ON CONFLICT (recording_id, take, init) DO NOTHING;

-- name: CreateSegments :exec
INSERT INTO recording_segments (recording_id, take, seq, tenant_id, init, discontinuity, started_at, duration_us, video_us, audio_us,
    video_bytes, audio_bytes)
SELECT @recording_id, @take, n.seq, @tenant_id, n.init, n.discontinuity, n.started_at, n.duration_us, n.video_us, n.audio_us,
    n.video_bytes, n.audio_bytes
FROM (SELECT unnest(@seqs::integer[]) AS seq, unnest(@inits::integer[]) AS init, unnest(@discontinuities::boolean[]) AS discontinuity,
    unnest(@started::timestamptz[]) AS started_at, unnest(@durations_us::bigint[]) AS duration_us, unnest(@video_us::bigint[]) AS video_us,
    unnest(@audio_us::bigint[]) AS audio_us, unnest(@video_bytes::bigint[]) AS video_bytes, unnest(@audio_bytes::bigint[]) AS audio_bytes) n
ON CONFLICT (recording_id, take, seq) DO NOTHING;

-- name: ListInits :many
-- @sqlc-vet-disable tenant
-- A playback token names only the recording. Returns the inits of each take behind the given number; all of a take that isn't given.
SELECT i.* FROM recording_takes k
    LEFT JOIN (SELECT unnest(@takes::integer[]) AS take, unnest(@inits::integer[]) AS init) n ON n.take = k.take
    CROSS JOIN LATERAL (
        SELECT g.* FROM recording_inits g WHERE g.recording_id = k.recording_id AND g.take = k.take AND g.init > coalesce(n.init, 0) OFFSET 0
    ) i
WHERE k.recording_id = @recording_id ORDER BY i.take, i.init;

-- name: ListSegments :many
-- @sqlc-vet-disable tenant
-- A playback token names only the recording. Returns the segments of each take behind the given number; all of a take that isn't
-- given. OFFSET keeps the planner from joining all rows of the recording: each take is a range of the primary key.
SELECT s.* FROM recording_takes k
    LEFT JOIN (SELECT unnest(@takes::integer[]) AS take, unnest(@seqs::integer[]) AS seq) n ON n.take = k.take
    CROSS JOIN LATERAL (
        SELECT g.* FROM recording_segments g WHERE g.recording_id = k.recording_id AND g.take = k.take AND g.seq > coalesce(n.seq, 0) OFFSET 0
    ) s
WHERE k.recording_id = @recording_id ORDER BY s.take, s.seq;

-- name: SumRecording :one
-- @sqlc-vet-disable tenant
-- The recording is locked. Sizes are those of segments and initialization sections.
SELECT count(*) AS segments, coalesce(sum(s.duration_us), 0)::bigint AS duration_us,
    (coalesce(sum(s.video_bytes + s.audio_bytes), 0)
        + (SELECT coalesce(sum(i.video_bytes + i.audio_bytes), 0) FROM recording_inits i WHERE i.recording_id = @recording_id))::bigint AS bytes
FROM recording_segments s WHERE s.recording_id = @recording_id;

-- name: CountSegments :one
-- @sqlc-vet-disable tenant
-- The recording is locked.
SELECT count(*) FROM recording_segments WHERE recording_id = @recording_id;

-- name: ListSpans :many
-- Parts of recordings without a discontinuity: when each began, and its duration.
SELECT r.recording_id, min(r.started_at)::timestamptz AS started_at, sum(r.duration_us)::bigint AS duration_us
FROM (
    SELECT s.recording_id, s.take, s.started_at, s.duration_us,
        count(*) FILTER (WHERE s.discontinuity) OVER (PARTITION BY s.recording_id, s.take ORDER BY s.seq) AS part
    FROM recording_segments s WHERE s.tenant_id = @tenant_id AND s.recording_id = ANY (@ids::text[])
) r
GROUP BY r.recording_id, r.take, r.part ORDER BY r.recording_id, r.take, r.part;
