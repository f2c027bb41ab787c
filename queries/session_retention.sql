-- name: ListSessionsEndedBefore :many
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Breakout rooms come before their session.
SELECT s.id FROM sessions s
WHERE s.ended_at < @before::timestamptz AND s.state IN ('ended', 'cancelled') AND s.tenant_id <> ALL (ARRAY(SELECT held_tenants()))
  AND NOT EXISTS (SELECT 1 FROM sessions b WHERE b.parent_session_id = s.id)
ORDER BY s.ended_at LIMIT @max_rows;

-- name: DeleteParticipantsOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM participants WHERE (room_id, user_id) IN (
    SELECT p.room_id, p.user_id FROM participants p WHERE p.room_id = ANY (@ids::text[]) LIMIT @max_rows);

-- name: LockSessions :many
-- @sqlc-vet-disable tenant
SELECT tenant_id, id FROM sessions WHERE id = ANY (@ids::text[]) ORDER BY id FOR UPDATE;

-- name: DeleteSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked; their rows in other areas are deleted.
WITH seats AS (DELETE FROM participants WHERE room_id = ANY (@ids::text[])),
    placements AS (DELETE FROM room_placements WHERE room_id = ANY (@ids::text[])),
    broadcasts AS (DELETE FROM session_broadcasts WHERE session_id = ANY (@ids::text[]))
DELETE FROM sessions WHERE id = ANY (@ids::text[]);
