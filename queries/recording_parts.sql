-- name: CreateSessionRecording :one
-- The session is locked.
INSERT INTO recordings (id, tenant_id, session_id, project_id, source, layout, separate_tracks, tracks_key, status, broadcast_at, started_at, node,
    wanted_at, metadata, created_at, updated_at)
VALUES (@id, @tenant_id, @session_id::text, sqlc.narg('project_id'), 'session', @layout::text, @separate_tracks,
    sqlc.narg('tracks_key'), 'RECORDING', @now, @now, '',
    @now, @metadata, @now, @now) RETURNING *;

-- name: ListSessionRecordings :many
SELECT * FROM recordings
WHERE tenant_id = @tenant_id AND session_id = @session_id::text AND status <> 'DELETED'
    AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: OpenPart :one
-- The recording is locked. Returns the part's number.
INSERT INTO recording_parts (recording_id, part, tenant_id, node, opened_at, seen_at, due_at)
SELECT @recording_id, coalesce(max(p.part), 0) + 1, @tenant_id, @node, @now, @now, @now FROM recording_parts p WHERE p.recording_id = @recording_id
RETURNING part;

-- name: LockPart :one
-- @sqlc-vet-disable tenant
-- The node knows only the recording's id.
SELECT * FROM recording_parts WHERE recording_id = @recording_id AND part = @part FOR UPDATE;

-- name: TouchParts :exec
-- @sqlc-vet-disable tenant
-- A node's heartbeat for the parts of all tenants whose files it has.
UPDATE recording_parts p SET seen_at = @now
FROM (SELECT unnest(@recording_ids::text[]) AS recording_id, unnest(@parts::integer[]) AS part) h
WHERE p.recording_id = h.recording_id AND p.part = h.part AND p.node = @node AND p.finished_at IS NULL;

-- name: ListPartsOfNode :many
-- @sqlc-vet-disable tenant
-- A node works for all tenants. Returns its unfinished parts. begun: the node had files of it at a heartbeat.
SELECT p.recording_id, p.part, p.closed_at, (p.seen_at > p.opened_at)::boolean AS begun, r.status, r.session_id::text AS session_id, r.layout::text AS layout
FROM recording_parts p JOIN recordings r ON r.id = p.recording_id
WHERE p.node = @node AND p.finished_at IS NULL ORDER BY p.recording_id, p.part;

-- name: ClosePart :exec
-- @sqlc-vet-disable tenant
-- The recording is locked. Repeating it has no effect.
UPDATE recording_parts SET closed_at = @now::timestamptz, due_at = @now::timestamptz, reason = sqlc.narg('reason')
WHERE recording_id = @recording_id AND part = @part AND closed_at IS NULL;

-- name: ClaimPart :one
-- @sqlc-vet-disable tenant
-- The next part that this node composes: the oldest one of the tenant whose last start is longest ago.
UPDATE recording_parts t SET claimed_at = @now::timestamptz, attempt = t.attempt + 1
FROM (
    SELECT p.recording_id, p.part FROM recording_parts p
    WHERE p.node = @node AND p.finished_at IS NULL AND p.closed_at IS NOT NULL AND p.due_at <= @now::timestamptz
        AND NOT EXISTS (
            SELECT FROM (SELECT unnest(@busy_ids::text[]) AS recording_id, unnest(@busy_parts::integer[]) AS part) b
            WHERE b.recording_id = p.recording_id AND b.part = p.part)
    ORDER BY (SELECT max(l.claimed_at) FROM recording_parts l WHERE l.node = p.node AND l.tenant_id = p.tenant_id) NULLS FIRST,
        p.opened_at, p.recording_id, p.part
    LIMIT 1 FOR UPDATE SKIP LOCKED
) next
WHERE t.recording_id = next.recording_id AND t.part = next.part RETURNING t.*;

-- name: PostponePart :exec
-- @sqlc-vet-disable tenant
-- uncounted is 1 for an attempt that doesn't count, and 0 otherwise.
UPDATE recording_parts SET due_at = @due_at, attempt = attempt - @uncounted::integer
WHERE recording_id = @recording_id AND part = @part AND finished_at IS NULL;

-- name: FinishPart :exec
-- @sqlc-vet-disable tenant
-- The recording is locked. A reason replaces the one that it has.
UPDATE recording_parts SET finished_at = @now::timestamptz, closed_at = coalesce(closed_at, @now::timestamptz),
    reason = coalesce(sqlc.narg('reason'), reason)
WHERE recording_id = @recording_id AND part = @part AND finished_at IS NULL;

-- name: RevivePart :execrows
-- @sqlc-vet-disable tenant
-- The recording is locked. A part that was lost with its node is unfinished again.
UPDATE recording_parts SET finished_at = NULL, closed_at = NULL, reason = NULL, seen_at = @now::timestamptz, due_at = @now::timestamptz
WHERE recording_id = @recording_id AND part = @part AND node = @node AND finished_at IS NOT NULL AND reason = @lost::text;

-- name: HasUnfinishedPart :one
-- @sqlc-vet-disable tenant
-- The recording is locked.
SELECT EXISTS (SELECT FROM recording_parts WHERE recording_id = @recording_id AND finished_at IS NULL);

-- name: GetPartReason :one
-- @sqlc-vet-disable tenant
-- Why the first incomplete part is not complete. The recording is locked.
SELECT reason FROM recording_parts WHERE recording_id = @recording_id AND reason IS NOT NULL ORDER BY part LIMIT 1;

-- name: ListLostParts :many
-- @sqlc-vet-disable tenant
-- Unfinished parts of all tenants whose node sends no heartbeats.
SELECT recording_id, part FROM recording_parts WHERE finished_at IS NULL AND seen_at < @before ORDER BY recording_id, part;

-- name: ListIdleSessionRecordings :many
-- @sqlc-vet-disable tenant
-- Recordings of sessions of all tenants to which no room has written since a time; with an id, only that one.
SELECT r.id FROM recordings r
WHERE r.status = 'RECORDING' AND r.source = 'session' AND r.wanted_at < @before
    AND (sqlc.narg('id')::text IS NULL OR r.id = sqlc.narg('id')::text)
    AND NOT EXISTS (SELECT FROM recording_parts p WHERE p.recording_id = r.id AND (p.closed_at IS NULL OR p.closed_at >= @before))
ORDER BY r.id;

-- name: OpenTakeOfPart :one
-- The recording is locked. Opens the take of a part, without what an earlier attempt has stored.
WITH segments AS (DELETE FROM recording_segments s WHERE s.recording_id = @recording_id AND s.take = @part::integer),
    inits AS (DELETE FROM recording_inits i WHERE i.recording_id = @recording_id AND i.take = @part::integer),
    counted AS (
        UPDATE recordings r SET takes = greatest(r.takes, @part::integer), updated_at = @now
        WHERE r.tenant_id = @tenant_id AND r.id = @recording_id
    )
INSERT INTO recording_takes (recording_id, take, tenant_id, node, key, opened_at, seen_at)
VALUES (@recording_id, @part::integer, @tenant_id, @node, @key, @now, @now)
ON CONFLICT (recording_id, take) DO UPDATE SET node = EXCLUDED.node, key = EXCLUDED.key, opened_at = EXCLUDED.opened_at,
    seen_at = EXCLUDED.seen_at, closed_at = NULL, reason = NULL, timed_out = false
RETURNING take;
