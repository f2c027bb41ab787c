-- name: LockSession :one
SELECT * FROM sessions WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: GetSession :one
SELECT * FROM sessions WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListSessions :many
SELECT * FROM sessions
WHERE tenant_id = @tenant_id
  AND (sqlc.narg('type')::text IS NULL OR type = sqlc.narg('type'))
  AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor'))
ORDER BY id DESC LIMIT @max_rows;

-- name: CreateSession :one
INSERT INTO sessions (id, tenant_id, type, name, project_id, host_id, capacity, recording_enabled, transcription_enabled,
    waiting_room, layout, invite_user_ids, state, parent_session_id, breakout_number, metadata, started_at, closes_at, created_at,
    updated_at)
VALUES (@id, @tenant_id, @type, @name, @project_id, @host_id, @capacity, @recording_enabled, @transcription_enabled,
    @waiting_room, @layout, @invite_user_ids, @state, @parent_session_id, @breakout_number, @metadata, @started_at, @closes_at, @now,
    @now)
RETURNING *;

-- name: SaveSession :exec
-- Writes all columns of a session that can change. The caller holds its lock.
UPDATE sessions SET name = @name, capacity = @capacity, recording_enabled = @recording_enabled,
    transcription_enabled = @transcription_enabled, waiting_room = @waiting_room, locked = @locked, layout = @layout,
    spotlight_user_id = @spotlight_user_id, invite_user_ids = @invite_user_ids, state = @state, seats = @seats, present = @present,
    recording_id = @recording_id, metadata = @metadata, started_at = @started_at, ended_at = @ended_at, updated_at = @updated_at
WHERE tenant_id = @tenant_id AND id = @id;

-- name: GetSessionTenant :one
-- @sqlc-vet-disable tenant
-- The room page's URL names only the session.
SELECT tenant_id FROM sessions WHERE id = @id;

-- name: GetSessionForEntry :one
-- The columns that are checked before the session is locked.
SELECT sqlc.embed(s), t.status AS tenant_status,
    EXISTS (SELECT 1 FROM participants p WHERE p.room_id = s.id AND p.seat = 'held' AND p.seat_until <= @now::timestamptz) AS seats_expired
FROM sessions s JOIN tenants t ON t.id = s.tenant_id
WHERE s.tenant_id = @tenant_id AND s.id = @id;

-- name: LockOpenBreakouts :many
SELECT * FROM sessions
WHERE tenant_id = @tenant_id AND parent_session_id = @parent_session_id AND state = 'live'
ORDER BY id FOR UPDATE;

-- name: ListOverdueBreakouts :many
-- @sqlc-vet-disable tenant
-- Lists sessions of all tenants with a breakout room whose time has ended, page by page: @after is the last session of the
-- page before. The caller closes the rooms by the same clock as @now.
SELECT s.tenant_id, s.parent_session_id::text AS parent_session_id FROM sessions s
WHERE s.state = 'live' AND s.closes_at <= @now::timestamptz AND s.parent_session_id > @after::text
GROUP BY s.tenant_id, s.parent_session_id ORDER BY s.parent_session_id LIMIT @max_rows;

-- name: ListOpenBreakouts :many
SELECT id FROM sessions
WHERE tenant_id = @tenant_id AND parent_session_id = @parent_session_id AND state = 'live'
ORDER BY id;

-- name: ListBreakoutsFor :many
-- The open breakout rooms of a session, by their number: without a user, all of them. With a user, those from which it
-- wasn't kicked: the rooms in which it is a participant and, if it moderates the session, all others.
SELECT s.id, s.name, s.closes_at, s.invite_user_ids FROM sessions s
LEFT JOIN participants p ON p.tenant_id = s.tenant_id AND p.room_id = s.id AND p.user_id = sqlc.narg('user_id')::text
WHERE s.tenant_id = @tenant_id AND s.parent_session_id = @parent_session_id AND s.state = 'live'
  AND (sqlc.narg('user_id')::text IS NULL OR p.state <> 'kicked' OR p.state IS NULL AND EXISTS (
      SELECT 1 FROM participants m WHERE m.tenant_id = @tenant_id AND m.room_id = @parent_session_id
        AND m.user_id = sqlc.narg('user_id')::text AND m.role IN ('host', 'cohost') AND m.state <> 'kicked'))
ORDER BY s.breakout_number, s.id;

-- name: ListOpenSessions :many
-- Breakout rooms end with their parents.
SELECT id FROM sessions
WHERE tenant_id = @tenant_id AND state IN ('waiting', 'live') AND parent_session_id IS NULL
ORDER BY id;

-- name: ListAbandonedCalls :many
-- @sqlc-vet-disable tenant
-- Calls of all tenants that have been empty for a while, since the answer or the last leave, and for which no seat is reserved.
SELECT s.tenant_id, s.id FROM sessions s
WHERE s.type = 'call' AND s.state = 'live' AND s.started_at < @before::timestamptz AND s.present = 0
  AND NOT EXISTS (SELECT 1 FROM participants p WHERE p.room_id = s.id AND (p.left_at >= @before OR p.seat_until >= @now::timestamptz))
ORDER BY s.started_at LIMIT @max_rows;

-- name: SaveSummary :exec
-- The caller holds the session's lock.
UPDATE sessions SET summary = @summary, summary_engine = @engine, summary_sources = @sources,
    summary_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListOverdueSummaries :many
-- @sqlc-vet-disable tenant
-- Sessions of all tenants whose summary should have been written: those that ended from @since on and before @before. @after is the
-- last one of the page before.
SELECT tenant_id, id FROM sessions
WHERE transcription_enabled AND state = 'ended' AND summary_at IS NULL
  AND ended_at >= @since::timestamptz AND ended_at < @before::timestamptz AND id > @after::text
ORDER BY id LIMIT @max_rows;
