-- name: GetSessionBroadcast :one
SELECT * FROM session_broadcasts WHERE tenant_id = @tenant_id AND session_id = @session_id;

-- name: ListSessionBroadcasts :many
SELECT * FROM session_broadcasts WHERE tenant_id = @tenant_id AND session_id = ANY (@session_ids::text[]);

-- name: CreateSessionBroadcast :one
-- Replaces the session's former broadcast, which has ended.
INSERT INTO session_broadcasts (session_id, tenant_id, id, stream_id, state, node, seen_at, created_at)
VALUES (@session_id, @tenant_id, @id, @stream_id, 'starting', @node, @now::timestamptz, @now::timestamptz)
ON CONFLICT (session_id) DO UPDATE SET id = EXCLUDED.id, stream_id = EXCLUDED.stream_id, state = EXCLUDED.state, node = EXCLUDED.node,
    seen_at = EXCLUDED.seen_at, created_at = EXCLUDED.created_at, started_at = NULL, ended_at = NULL, reason = NULL
WHERE session_broadcasts.state = 'ended' AND session_broadcasts.tenant_id = EXCLUDED.tenant_id
RETURNING *;

-- name: SetSessionBroadcastState :one
-- The caller holds the session's lock.
UPDATE session_broadcasts SET state = @state, started_at = @started_at, ended_at = @ended_at, reason = @reason
WHERE tenant_id = @tenant_id AND session_id = @session_id RETURNING *;

-- name: FindSessionBroadcast :one
-- @sqlc-vet-disable tenant
-- The node knows the broadcast by its id.
SELECT * FROM session_broadcasts WHERE id = @id;

-- name: TouchSessionBroadcasts :exec
-- @sqlc-vet-disable tenant
-- A heartbeat of the broadcasts that a node encodes.
UPDATE session_broadcasts SET seen_at = @now::timestamptz, node = @node WHERE id = ANY (@ids::text[]) AND state <> 'ended';

-- name: LockBroadcastPlaces :exec
-- @sqlc-vet-disable tenant
-- Makes requests for the places of a node wait for each other until their transactions end.
SELECT pg_advisory_xact_lock(hashtextextended('session_broadcasts ' || @node::text, 0));

-- name: CountBroadcastsOfNode :one
-- @sqlc-vet-disable tenant
-- Places of a node that all tenants hold, and those of one. A broadcast without a recent heartbeat holds none.
SELECT count(*) AS total, count(*) FILTER (WHERE tenant_id = @tenant_id) AS own FROM session_broadcasts
WHERE node = @node AND state <> 'ended' AND seen_at >= @since::timestamptz;

-- name: FindBroadcastInto :one
-- The session that is broadcast into a stream.
SELECT session_id FROM session_broadcasts WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND state <> 'ended';

-- name: ListSilentBroadcasts :many
-- @sqlc-vet-disable tenant
-- Broadcasts without a recent heartbeat: live ones before one time, and all before another one.
SELECT id FROM session_broadcasts
WHERE state = 'live' AND seen_at < @live_before::timestamptz OR state = 'starting' AND seen_at < @starting_before::timestamptz
ORDER BY seen_at LIMIT @max_rows;
