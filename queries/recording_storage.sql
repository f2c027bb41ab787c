-- name: SumStoredBytes :many
-- @sqlc-vet-disable tenant
-- The bytes of each tenant's recordings that are not deleted, without those of outside recorders. Before a recording is READY,
-- the bytes of its segments, initialization sections and tracks count. The files of media jobs are in the recordings' folders.
SELECT f.tenant_id, sum(f.bytes)::bigint AS bytes
FROM (
    SELECT r.tenant_id, r.size_bytes AS bytes FROM recordings r WHERE r.status = 'READY' AND r.playlist_url IS NULL
    UNION ALL
    SELECT s.tenant_id, s.video_bytes + s.audio_bytes FROM recordings r JOIN recording_segments s ON s.recording_id = r.id
    WHERE r.status IN ('RECORDING', 'PROCESSING')
    UNION ALL
    SELECT i.tenant_id, i.video_bytes + i.audio_bytes FROM recordings r JOIN recording_inits i ON i.recording_id = r.id
    WHERE r.status IN ('RECORDING', 'PROCESSING')
    UNION ALL
    SELECT k.tenant_id, k.size_bytes FROM recordings r JOIN recording_tracks k ON k.recording_id = r.id
    WHERE r.status IN ('RECORDING', 'PROCESSING')
    UNION ALL
    SELECT j.tenant_id, j.size_bytes FROM media_jobs j JOIN recordings r ON r.id = j.recording_id
    WHERE j.status = 'COMPLETED' AND r.status <> 'DELETED'
) f
GROUP BY f.tenant_id HAVING sum(f.bytes) > 0 ORDER BY f.tenant_id;
