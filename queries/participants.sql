-- name: GetParticipant :one
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = @user_id;

-- name: LockParticipant :one
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = @user_id FOR UPDATE;

-- name: ListParticipantsByUser :many
-- Returns those of these users who are participants.
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = ANY (@user_ids::text[]);

-- name: LockParticipantsByUser :many
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = ANY (@user_ids::text[])
ORDER BY user_id FOR UPDATE;

-- name: LockWaiting :many
-- Ordered by the time of joining, earliest first. Every transaction that locks several participants holds the session's lock.
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND state = 'waiting'
ORDER BY position FOR UPDATE;

-- name: ListCallParties :many
-- Caller and callee of these calls.
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = ANY (@room_ids::text[])
ORDER BY room_id, position;

-- name: InviteParticipants :exec
-- One element per user in each array; an empty name means none. Existing
-- participants don't change.
INSERT INTO participants (room_id, user_id, tenant_id, display_name, role, can_publish_screen, state, created_at, updated_at)
SELECT @room_id, i.user_id, @tenant_id, nullif(i.display_name, ''), i.role, i.can_publish_screen, i.state, @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@user_ids::text[]) AS user_id, unnest(@display_names::text[]) AS display_name, unnest(@roles::text[]) AS role,
    unnest(@can_publish_screens::boolean[]) AS can_publish_screen, unnest(@states::text[]) AS state) i
ON CONFLICT (room_id, user_id) DO NOTHING;

-- name: SaveParticipant :exec
-- Writes all columns that change. The caller holds the participant's lock.
UPDATE participants SET display_name = @display_name, role = @role, can_publish_screen = @can_publish_screen, state = @state,
    admitted = @admitted, seat = @seat, seat_until = @seat_until, muted = @muted, silenced = @silenced, hand_raised_at = @hand_raised_at,
    conn_id = @conn_id, node = @node, joined_at = @joined_at, left_at = @left_at, updated_at = @updated_at
WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = @user_id;

-- name: FreeExpiredSeats :execrows
-- Releases reserved seats whose time is over, except those of the users
-- in but, whose entries are being decided.
UPDATE participants SET seat = 'none', seat_until = NULL
WHERE tenant_id = @tenant_id AND room_id = @room_id AND seat = 'held' AND seat_until <= @now::timestamptz
  AND user_id <> ALL (@except_users::text[]);

-- name: EmptyRoom :exec
-- For a session that has ended: removes all participants and waiting users.
UPDATE participants SET state = CASE state WHEN 'joined' THEN 'left' WHEN 'waiting' THEN 'invited' ELSE state END,
    left_at = CASE state WHEN 'joined' THEN @now::timestamptz ELSE left_at END,
    seat = 'none', seat_until = NULL, hand_raised_at = NULL, conn_id = NULL, node = NULL, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND room_id = @room_id
  AND (state IN ('joined', 'waiting') OR seat <> 'none' OR conn_id IS NOT NULL OR hand_raised_at IS NOT NULL);

-- name: ListGrants :many
-- @sqlc-vet-disable tenant
-- The current role, permissions and state of these users in a room. The node knows the users by their tokens.
SELECT sqlc.embed(p), s.state AS session_state, t.status AS tenant_status, s.type, s.name, s.layout, s.host_id, s.locked,
    s.waiting_room, s.recording_enabled, s.transcription_enabled, s.spotlight_user_id, s.parent_session_id, s.recording_id,
    b.id AS broadcast_id, b.stream_id AS broadcast_stream_id, coalesce(b.state = 'live', false)::boolean AS on_air,
    coalesce(p.conn_id IS NOT NULL AND p.node <> r.node_id, false)::boolean AS moved
FROM participants p JOIN tenants t ON t.id = p.tenant_id LEFT JOIN sessions s ON s.id = p.room_id
LEFT JOIN room_placements r ON r.room_id = p.room_id
LEFT JOIN session_broadcasts b ON b.session_id = p.room_id AND b.state <> 'ended'
WHERE p.room_id = @room_id AND p.user_id = ANY (@user_ids::text[]);

-- name: ListStrandedRooms :many
-- @sqlc-vet-disable tenant
-- Rooms with connections of processes without a recent heartbeat.
SELECT DISTINCT p.tenant_id, p.room_id, p.node::text AS node
FROM participants p LEFT JOIN nodes n ON n.id = p.node
WHERE p.conn_id IS NOT NULL AND p.node <> @node::text AND p.updated_at < @before::timestamptz AND (n.seen_at IS NULL OR n.seen_at < @before)
ORDER BY 1, 2, 3;

-- name: ListRoomsOfNode :many
-- @sqlc-vet-disable tenant
-- A process holds connections of all tenants.
SELECT DISTINCT tenant_id, room_id FROM participants WHERE node = @node::text AND conn_id IS NOT NULL ORDER BY 1, 2;

-- name: LockConnectedTo :many
-- Participants who are connected to a room through this process.
SELECT * FROM participants WHERE tenant_id = @tenant_id AND room_id = @room_id AND node = @node::text AND conn_id IS NOT NULL
ORDER BY user_id FOR UPDATE;

-- name: DeleteStreamParticipantsBefore :execrows
-- @sqlc-vet-disable tenant
-- Deletes participants of streams' rooms who have left, of all tenants, oldest first, max_rows at most.
DELETE FROM participants p WHERE (p.room_id, p.user_id) IN (
    SELECT o.room_id, o.user_id FROM participants o
    WHERE o.room_id LIKE 'str\_%' AND o.conn_id IS NULL AND o.state <> 'kicked' AND o.updated_at < @before
      AND o.tenant_id <> ALL (ARRAY(SELECT held_tenants()))
    ORDER BY o.updated_at LIMIT @max_rows);

-- name: SetMuted :exec
-- Unmuting also ends a moderator's silencing.
UPDATE participants SET muted = @muted, silenced = silenced AND @muted, updated_at = @now
WHERE tenant_id = @tenant_id AND room_id = @room_id AND user_id = @user_id AND conn_id = @conn_id;

-- name: ListSessionParticipants :many
SELECT * FROM participants
WHERE tenant_id = @tenant_id AND room_id = @room_id AND position > @after
ORDER BY position LIMIT @max_rows;

-- name: MuteAllParticipants :many
-- Silences participants who may speak, and returns for each whether it was already muted. Rows are locked in the usual order.
WITH speaking AS (
    SELECT p.user_id, p.muted FROM participants p
    WHERE p.tenant_id = @tenant_id AND p.room_id = @room_id AND p.state = 'joined' AND p.role <> 'viewer' AND NOT p.silenced
      AND NOT (@except_host::boolean AND p.role = 'host')
    ORDER BY p.user_id FOR UPDATE)
UPDATE participants SET muted = true, silenced = true, updated_at = @now FROM speaking
WHERE participants.tenant_id = @tenant_id AND participants.room_id = @room_id AND participants.user_id = speaking.user_id
RETURNING speaking.muted AS was_muted;
