-- name: CreateRecording :one
INSERT INTO recordings (id, tenant_id, stream_id, source, name, status, broadcast_at, started_at, node, wanted_at, metadata, created_at, updated_at)
VALUES (@id, @tenant_id, @stream_id::text, @source, @name, 'RECORDING', @broadcast_at, @now, @node, @now, @metadata, @now, @now) RETURNING *;

-- name: CreateImport :one
-- A recording of a file that is complete.
INSERT INTO recordings (id, tenant_id, stream_id, source, status, broadcast_at, started_at, node, wanted_at, metadata, created_at, updated_at)
VALUES (@id, @tenant_id, @stream_id::text, 'srs', 'PROCESSING', @now, @now, '', @now, @metadata, @now, @now) RETURNING id;

-- name: ListAbandonedImports :many
-- @sqlc-vet-disable tenant
-- Imports of all tenants that have been going on for too long.
SELECT r.id FROM recordings r WHERE r.status = 'PROCESSING' AND r.source = 'srs' AND r.created_at < @before::timestamptz ORDER BY r.id;

-- name: GetRecording :one
SELECT * FROM recordings WHERE tenant_id = @tenant_id AND id = @id;

-- name: LockRecordingOfTenant :one
SELECT * FROM recordings WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: LockRecording :one
-- @sqlc-vet-disable tenant
-- Recorders, jobs and admins know only the recording's id.
SELECT * FROM recordings WHERE id = @id FOR UPDATE;

-- name: FindRecording :one
-- @sqlc-vet-disable tenant
-- A playback token names only the recording.
SELECT * FROM recordings WHERE id = @id;

-- name: FindPlayableRecording :one
-- @sqlc-vet-disable tenant
-- A playback token names only the recording. Those of suspended and cancelled tenants can't be played.
SELECT r.* FROM recordings r JOIN tenants t ON t.id = r.tenant_id WHERE r.id = @id AND t.status NOT IN ('SUSPENDED', 'CANCELLED');

-- name: GetActiveRecording :one
SELECT * FROM recordings WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND status = 'RECORDING';

-- name: LockActiveRecording :one
-- The recording that is being made of a stream.
SELECT * FROM recordings WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND status = 'RECORDING' FOR UPDATE;

-- name: HasRecordingOfBroadcast :one
SELECT EXISTS (
    SELECT FROM recordings WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND broadcast_at = @broadcast_at);

-- name: GetWantedRecording :one
-- @sqlc-vet-disable tenant
-- The recorder knows only the stream's id.
SELECT id FROM recordings WHERE stream_id = @stream_id::text AND status = 'RECORDING' AND source = 'builtin' AND node = @node::text;

-- name: ListWantedRecordings :many
-- @sqlc-vet-disable tenant
-- A node records the streams of all tenants.
SELECT id, stream_id::text AS stream_id FROM recordings WHERE status = 'RECORDING' AND source = 'builtin' AND node = @node::text ORDER BY id;

-- name: ListRecordings :many
SELECT * FROM recordings
WHERE tenant_id = @tenant_id AND status <> 'DELETED' AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: ListStreamRecordings :many
SELECT * FROM recordings
WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND status <> 'DELETED'
    AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: GetNewestReplay :one
-- The newest READY recording of a stream's broadcast that isn't a clip.
SELECT * FROM recordings
WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND status = 'READY' AND clip_of IS NULL AND broadcast_at >= @broadcast_at
ORDER BY id DESC LIMIT 1;

-- name: ListAdminRecordings :many
-- @sqlc-vet-disable tenant
-- Admins list the recordings of all tenants. Finds the page along an index before it reads rows.
WITH page AS MATERIALIZED (
    SELECT f.id FROM recordings f
    WHERE (sqlc.narg('tenant')::text IS NULL OR f.tenant_id = sqlc.narg('tenant')::text)
        AND (sqlc.narg('status')::text IS NULL OR f.status = sqlc.narg('status')::text)
    ORDER BY f.created_at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(r), t.name AS tenant_name, s.name AS stream_name
FROM page JOIN recordings r ON r.id = page.id JOIN tenants t ON t.id = r.tenant_id LEFT JOIN streams s ON s.id = r.stream_id
ORDER BY r.created_at DESC, r.id DESC;

-- name: CountAdminRecordings :one
-- @sqlc-vet-disable tenant
-- The kept number of recordings of one tenant or of all.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c WHERE c.scope = 'recordings_by_status'
    AND c.key IN (SELECT coalesce(sqlc.narg('tenant')::text, '') || '/' || s.status FROM unnest(@statuses::text[]) AS s (status));

-- name: ListAdminStreamRecordings :many
-- @sqlc-vet-disable tenant
-- Admins see the recordings of all tenants. The newest ones of a stream; ids follow the time.
SELECT sqlc.embed(r), t.name AS tenant_name, s.name AS stream_name
FROM recordings r JOIN tenants t ON t.id = r.tenant_id LEFT JOIN streams s ON s.id = r.stream_id
WHERE r.stream_id = @stream_id::text ORDER BY r.id DESC LIMIT @max_rows;

-- name: GetAdminRecording :one
-- @sqlc-vet-disable tenant
-- Admins see the recordings of all tenants.
SELECT sqlc.embed(r), t.name AS tenant_name, s.name AS stream_name
FROM recordings r JOIN tenants t ON t.id = r.tenant_id LEFT JOIN streams s ON s.id = r.stream_id WHERE r.id = @id;

-- name: UpdateRecording :exec
-- The row is locked.
UPDATE recordings SET name = @name, metadata = @metadata, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: ContinueRecording :exec
-- The row is locked. The broadcast goes on, perhaps on another node.
UPDATE recordings SET node = @node, wanted_at = @now, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: EndRecording :one
-- The row is locked and RECORDING.
UPDATE recordings SET status = 'PROCESSING', ended_at = @ended_at, incomplete_reason = @incomplete_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetRecordingStart :exec
-- The row is locked. Sets the time of the first frame, unless another take has stored a segment before.
UPDATE recordings r SET started_at = @started_at, updated_at = @now
WHERE r.tenant_id = @tenant_id AND r.id = @id
    AND NOT EXISTS (SELECT FROM recording_segments s WHERE s.recording_id = r.id AND s.take <> @take::integer);

-- name: SetRecordingReady :one
-- The row is locked.
UPDATE recordings SET status = 'READY', started_at = @started_at, ended_at = @ended_at, duration_ms = @duration_ms, size_bytes = @size_bytes,
    incomplete_reason = @incomplete_reason, playlist_url = @playlist_url, product_timeline = @product_timeline,
    retain_until = @retain_until, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetRecordingFailed :one
-- The row is locked.
UPDATE recordings SET status = 'FAILED', ended_at = @ended_at, error = @error, retain_until = @retain_until, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetRecordingRetention :exec
-- The row is locked.
UPDATE recordings SET retain_until = @retain_until, retention_set = @retention_set, legal_hold = @legal_hold, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: DeleteRecording :exec
-- The row is locked.
UPDATE recordings SET status = 'DELETED', deleted_at = @now::timestamptz, deleted_reason = @deleted_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id;

-- name: SetRecordingFilesDeleted :execrows
-- @sqlc-vet-disable tenant
-- The job knows only the recording's id. The rows that describe the files go with them.
WITH segments AS (DELETE FROM recording_segments s WHERE s.recording_id = @id),
    inits AS (DELETE FROM recording_inits i WHERE i.recording_id = @id),
    takes AS (DELETE FROM recording_takes t WHERE t.recording_id = @id),
    parts AS (DELETE FROM recording_parts p WHERE p.recording_id = @id),
    tracks AS (DELETE FROM recording_tracks k WHERE k.recording_id = @id),
    texts AS (DELETE FROM recording_text_tracks x WHERE x.recording_id = @id)
UPDATE recordings r SET files_deleted_at = @now::timestamptz WHERE r.id = @id AND r.status = 'DELETED' AND r.files_deleted_at IS NULL;

-- name: LockExpiredRecordings :many
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Another process may delete others of these rows at the same time.
SELECT * FROM recordings
WHERE status IN ('READY', 'FAILED') AND NOT legal_hold AND retain_until < @now::timestamptz
  AND tenant_id <> ALL (ARRAY(SELECT held_tenants()))
ORDER BY retain_until LIMIT @max_rows FOR UPDATE SKIP LOCKED;

-- name: ListStrandedRecordings :many
-- @sqlc-vet-disable tenant
-- Recordings of all tenants whose stream is no longer on air, or on air in a later broadcast.
SELECT r.id, r.tenant_id, s.id AS stream_id FROM recordings r JOIN streams s ON s.id = r.stream_id
WHERE r.status = 'RECORDING' AND (s.status NOT IN ('LIVE', 'RECONNECTING') OR s.started_at <> r.broadcast_at) ORDER BY r.id;

-- name: ListIdleRecordings :many
-- @sqlc-vet-disable tenant
-- Recordings of all tenants that no take has worked on since a time, while the stream is live.
SELECT r.id, r.tenant_id, s.id AS stream_id, greatest(r.wanted_at, t.closed_at)::timestamptz AS idle_since
FROM recordings r JOIN streams s ON s.id = r.stream_id
    LEFT JOIN LATERAL (
        SELECT max(coalesce(k.closed_at, 'infinity')) AS closed_at FROM recording_takes k WHERE k.recording_id = r.id
    ) t ON true
WHERE r.status = 'RECORDING' AND r.source = 'builtin' AND s.status = 'LIVE' AND r.wanted_at < @before
    AND coalesce(t.closed_at, '-infinity') < @before
ORDER BY r.id;

-- name: ListUnfinishedRecordings :many
-- @sqlc-vet-disable tenant
-- Recordings of all tenants that can be finalized: they have ended, and no take or part is unfinished.
SELECT r.id FROM recordings r
WHERE r.status = 'PROCESSING' AND (
    r.source = 'builtin' AND r.clip_of IS NULL
        AND NOT EXISTS (SELECT FROM recording_takes t WHERE t.recording_id = r.id AND t.closed_at IS NULL)
    OR r.source = 'session' AND NOT EXISTS (SELECT FROM recording_parts p WHERE p.recording_id = r.id AND p.finished_at IS NULL))
ORDER BY r.id;

-- name: HasUnfinishedRecordings :one
-- @sqlc-vet-disable tenant
-- Whether any tenant has a recording, a take, a part or files of a deleted recording that are not finished. Each EXISTS reads the index of
-- the unfinished rows.
SELECT (EXISTS (SELECT FROM recordings r WHERE r.status IN ('RECORDING', 'PROCESSING'))
    OR EXISTS (SELECT FROM recordings r WHERE r.status = 'DELETED' AND r.files_deleted_at IS NULL)
    OR EXISTS (SELECT FROM recording_takes t WHERE t.closed_at IS NULL)
    OR EXISTS (SELECT FROM recording_parts p WHERE p.finished_at IS NULL))::boolean;

-- name: ListUnreportedRecordings :many
-- @sqlc-vet-disable tenant
-- Recordings of all tenants whose outside recorder has not reported the result.
SELECT r.id FROM recordings r WHERE r.status = 'PROCESSING' AND r.source = 'external' AND r.ended_at < @before::timestamptz ORDER BY r.id;

-- name: ListUndeletedRecordings :many
-- @sqlc-vet-disable tenant
-- Deleted recordings of all tenants whose files are still there.
SELECT r.id FROM recordings r WHERE r.status = 'DELETED' AND r.files_deleted_at IS NULL AND r.deleted_at < @before::timestamptz ORDER BY r.id;

-- name: SetRecordingAssets :one
-- The row is locked and READY.
UPDATE recordings SET assets_at = @now::timestamptz, has_poster = @has_poster, has_storyboard = @has_storyboard, has_mp4 = @has_mp4,
    size_bytes = size_bytes + @bytes::bigint, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;
