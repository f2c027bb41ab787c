-- name: GetPlacement :one
-- The node of the room and whether it is alive. For a stream on air, also the living
-- node of its encoder.
SELECT coalesce(p.node_id, '')::text AS node_id, coalesce(n.sfu_url, '')::text AS sfu_url,
    coalesce(n.seen_at >= @alive_since::timestamptz, false)::boolean AS alive,
    coalesce(e.id, '')::text AS encoder_node, coalesce(e.sfu_url, '')::text AS encoder_sfu_url
FROM (SELECT 1) one
LEFT JOIN room_placements p ON p.room_id = @room_id AND p.tenant_id = @tenant_id
LEFT JOIN nodes n ON n.id = p.node_id
LEFT JOIN LATERAL (
    SELECT o.id, o.sfu_url FROM publishers b JOIN nodes o ON o.id = b.node AND o.seen_at >= @alive_since AND o.sfu_url IS NOT NULL
    WHERE b.tenant_id = @tenant_id AND b.stream_id = @room_id AND b.source IN ('rtmp', 'session') AND b.ended_at IS NULL
    ORDER BY b.accepted_at DESC LIMIT 1) e ON true;

-- name: PlaceRoom :one
-- Places the room on a node, unless a node other than was_node has it meanwhile, and
-- notifies the nodes: participants connected to the previous node have to move.
WITH placed AS (
    INSERT INTO room_placements (room_id, tenant_id, node_id, placed_at) VALUES (@room_id::text, @tenant_id, @node_id, @now)
    ON CONFLICT (room_id) DO UPDATE SET node_id = excluded.node_id, placed_at = excluded.placed_at
        WHERE room_placements.node_id IN (@was_node, excluded.node_id)
    RETURNING node_id)
SELECT node_id, pg_notify(@channel::text, @room_id::text || '/')::text AS told FROM placed;

-- name: DeletePlacement :exec
DELETE FROM room_placements WHERE tenant_id = @tenant_id AND room_id = @room_id;

-- name: DeletePlacementsOfGoneNodes :exec
-- @sqlc-vet-disable tenant
-- The next request for such a room places it again.
DELETE FROM room_placements p
WHERE p.placed_at < @before AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = p.node_id AND n.seen_at >= @before);

-- name: ListPlacedStreamRooms :many
-- A tenant's streams whose rooms may have participants.
SELECT room_id FROM room_placements WHERE tenant_id = @tenant_id AND room_id LIKE 'str\_%' ORDER BY room_id;
