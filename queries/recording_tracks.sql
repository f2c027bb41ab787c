-- name: CreateTracks :exec
-- The recording and its part are locked, and the part isn't finished yet.
INSERT INTO recording_tracks (recording_id, part, number, tenant_id, user_id, name, duration_ms, size_bytes)
SELECT @recording_id, @part, n.number, @tenant_id, n.user_id, nullif(n.name, ''), @duration_ms, n.size_bytes
FROM (SELECT unnest(@numbers::integer[]) AS number, unnest(@user_ids::text[]) AS user_id, unnest(@names::text[]) AS name,
    unnest(@sizes::bigint[]) AS size_bytes) n;

-- name: CountTracks :one
-- @sqlc-vet-disable tenant
-- The node knows only the recording's id.
SELECT count(*) FROM recording_tracks WHERE recording_id = @recording_id;

-- name: SumTracks :one
-- @sqlc-vet-disable tenant
-- The bytes of a recording's tracks. The recording is locked.
SELECT coalesce(sum(size_bytes), 0)::bigint FROM recording_tracks WHERE recording_id = @recording_id;

-- name: SetTrackStarts :exec
-- The recording is locked. A part begins in the video where the takes before it end, since gaps are left out.
UPDATE recording_tracks k SET start_ms = coalesce(p.start_ms, 0)::bigint
FROM (
    SELECT d.part, (
        SELECT round(sum(s.duration_us) / 1000) FROM recording_segments s WHERE s.recording_id = @recording_id AND s.take < d.part) AS start_ms
    FROM (SELECT DISTINCT t.part FROM recording_tracks t WHERE t.recording_id = @recording_id) d
) p
WHERE k.tenant_id = @tenant_id AND k.recording_id = @recording_id AND k.part = p.part;

-- name: ListTracks :many
-- The tracks of READY recordings, by participant and then by time.
SELECT * FROM recording_tracks WHERE tenant_id = @tenant_id AND recording_id = ANY (@ids::text[])
ORDER BY recording_id, user_id, part, number;
