-- name: ListSessionsEndedBefore :many
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Breakout rooms come before their session.
SELECT s.id FROM sessions s
WHERE s.ended_at < @before::timestamptz AND s.state IN ('ended', 'cancelled')
  AND NOT EXISTS (SELECT 1 FROM sessions b WHERE b.parent_session_id = s.id)
ORDER BY s.ended_at LIMIT @max_rows;

-- name: DeleteMessagesOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_messages WHERE id = ANY (ARRAY(
    SELECT m.id FROM channel_messages m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows));

-- name: DeleteChannelMembersOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_members WHERE (channel_id, user_id) IN (
    SELECT m.channel_id, m.user_id FROM channel_members m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows);

-- name: DeleteChannelModerationOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_moderation WHERE id = ANY (ARRAY(
    SELECT m.id FROM channel_moderation m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows));

-- name: DeletePinsOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM product_pins WHERE id = ANY (ARRAY(
    SELECT p.id FROM product_pins p WHERE p.room_id = ANY (@ids::text[]) LIMIT @max_rows));

-- name: DeleteParticipantsOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM participants WHERE (room_id, user_id) IN (
    SELECT p.room_id, p.user_id FROM participants p WHERE p.room_id = ANY (@ids::text[]) LIMIT @max_rows);

-- name: LockSessions :exec
-- @sqlc-vet-disable tenant
SELECT id FROM sessions WHERE id = ANY (@ids::text[]) ORDER BY id FOR UPDATE;

-- name: DeleteChannelsOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked. Waits for transactions that write in these channels; the next statement sees their rows.
WITH members AS (DELETE FROM channel_members WHERE channel_id = ANY (@ids::text[]))
DELETE FROM channels WHERE id = ANY (@ids::text[]);

-- name: DeleteSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked and no longer have channels.
-- Also deletes the event counters of the sessions and of their chats.
WITH messages AS (DELETE FROM channel_messages WHERE channel_id = ANY (@ids::text[])),
    moderation AS (DELETE FROM channel_moderation WHERE channel_id = ANY (@ids::text[])),
    pins AS (DELETE FROM product_pins WHERE room_id = ANY (@ids::text[])),
    seats AS (DELETE FROM participants WHERE room_id = ANY (@ids::text[])),
    placements AS (DELETE FROM room_placements WHERE room_id = ANY (@ids::text[])),
    rings AS (DELETE FROM calls WHERE session_id = ANY (@ids::text[])),
    sequences AS (DELETE FROM event_subjects e USING sessions s
        WHERE s.id = ANY (@ids::text[]) AND e.tenant_id = s.tenant_id AND e.subject IN (s.id, s.id || '/chat'))
DELETE FROM sessions WHERE id = ANY (@ids::text[]);
