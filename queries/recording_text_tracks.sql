-- name: ListTextTracks :many
-- @sqlc-vet-disable tenant
-- A playback token names only the recording.
SELECT * FROM recording_text_tracks WHERE recording_id = @recording_id ORDER BY language;

-- name: PutTextTrack :one
-- The recording is locked.
INSERT INTO recording_text_tracks (recording_id, language, tenant_id, name, kind, hash, version, cues, size_bytes, created_at, updated_at)
VALUES (@recording_id, @language, @tenant_id, @name, @kind, @hash, @version, @cues, @size_bytes, @now, @now)
ON CONFLICT (recording_id, language) DO UPDATE SET name = EXCLUDED.name, kind = EXCLUDED.kind, hash = EXCLUDED.hash,
    version = EXCLUDED.version, cues = EXCLUDED.cues, size_bytes = EXCLUDED.size_bytes, updated_at = EXCLUDED.updated_at
RETURNING *;

-- name: DeleteTextTrack :exec
-- The recording is locked.
DELETE FROM recording_text_tracks WHERE tenant_id = @tenant_id AND recording_id = @recording_id AND language = @language;

-- name: HasTextVersion :one
-- @sqlc-vet-disable tenant
-- The job that removes old files knows only the recording.
SELECT EXISTS (SELECT FROM recording_text_tracks WHERE recording_id = @recording_id AND version = @version);

-- name: AddRecordingSize :exec
-- The recording is locked and READY.
UPDATE recordings SET size_bytes = size_bytes + @bytes::bigint, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;
