-- name: TouchNode :exec
-- @sqlc-vet-disable tenant
-- Nodes serve all tenants.
INSERT INTO nodes (id, seen_at, url, version, started_at) VALUES (@id, @now, sqlc.narg('url'), @version, @started_at)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, url = excluded.url, version = excluded.version, started_at = excluded.started_at;

-- name: Notify :exec
-- @sqlc-vet-disable tenant
-- Notifies all listening processes when the transaction commits.
SELECT pg_notify(@channel::text, @payload::text);

-- name: NotifyRooms :exec
-- @sqlc-vet-disable tenant
-- Notifies all processes, when the transaction commits, that a user's role, permissions or state in these rooms changed.
SELECT pg_notify(@channel::text, room_id || '/' || @user_id::text) FROM unnest(@room_ids::text[]) AS r (room_id);

-- name: ListStrandedPublishers :many
-- @sqlc-vet-disable tenant
-- Connections of processes without a recent heartbeat.
SELECT p.* FROM publishers p LEFT JOIN nodes n ON n.id = p.node
WHERE p.source IN ('rtmp', 'webrtc', 'session') AND p.ended_at IS NULL AND p.node <> @node AND p.accepted_at < @before AND (n.seen_at IS NULL OR n.seen_at < @before)
ORDER BY p.accepted_at, p.id;

-- name: ListEndedPublishers :many
-- @sqlc-vet-disable tenant
-- Returns those of these connections that have ended.
SELECT * FROM publishers WHERE id = ANY (@ids::text[]) AND ended_at IS NOT NULL;

-- name: DeleteNodesBefore :exec
-- @sqlc-vet-disable tenant
-- Nodes serve all tenants.
DELETE FROM nodes n WHERE seen_at < @before
AND NOT EXISTS (SELECT 1 FROM publishers p WHERE p.node = n.id AND p.ended_at IS NULL);

-- name: BeatNode :exec
-- @sqlc-vet-disable tenant
-- Nodes serve all tenants.
INSERT INTO nodes (id, seen_at, sfu_url, participants) VALUES (@id, @now, @sfu_url, @participants)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, sfu_url = excluded.sfu_url, participants = excluded.participants;

-- name: ListNodesWithSFU :many
-- @sqlc-vet-disable tenant
-- Living nodes, those with the fewest participants first.
SELECT id, sfu_url::text AS sfu_url FROM nodes WHERE sfu_url IS NOT NULL AND seen_at >= @alive_since ORDER BY participants, id;

-- name: ListNodes :many
-- @sqlc-vet-disable tenant
-- For operators: the nodes, oldest first, with their streams, players and participants. The minutes are those of CountViewers.
SELECT n.id, n.seen_at, n.sfu_url, n.version, n.started_at, n.participants,
    (SELECT count(*) FROM publishers p WHERE p.node = n.id AND p.ended_at IS NULL) AS streams,
    coalesce((SELECT sum(greatest(v.now, v.before)) FROM (
        SELECT max(a.viewers[@minute::integer]) FILTER (WHERE a.hour = @hour::timestamptz) AS now,
            max(a.viewers[@last_minute::integer]) FILTER (WHERE a.hour = @last_hour::timestamptz) AS before
        FROM audience_hours a WHERE a.node = n.id AND a.hour IN (@hour::timestamptz, @last_hour::timestamptz) GROUP BY a.stream_id) v), 0)::bigint AS viewers
FROM nodes n WHERE n.seen_at >= @since::timestamptz ORDER BY n.started_at NULLS FIRST, n.id LIMIT 1000;
