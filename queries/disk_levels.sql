-- name: SetDiskLevel :many
-- @sqlc-vet-disable tenant
-- Disks are the operator's, not a tenant's. No row when the level is the same as before;
-- a node without a row has enough space.
INSERT INTO disk_levels AS d (node, level, changed_at)
SELECT @node::text, @level::text, @now::timestamptz
WHERE @level::text <> 'enough' OR EXISTS (SELECT FROM disk_levels e WHERE e.node = @node::text)
ON CONFLICT (node) DO UPDATE SET level = excluded.level, changed_at = excluded.changed_at WHERE d.level <> excluded.level
RETURNING d.level;
