-- name: CreateRestreamRoutes :exec
INSERT INTO restream_routes (id, tenant_id, stream_id, target_id, created_at, updated_at)
SELECT b.id, @tenant_id, @stream_id, b.target_id, @now::timestamptz, @now::timestamptz
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@target_ids::text[]) AS target_id) b;

-- name: ListOpenRestreamTargets :many
-- The targets of a locked stream's pending and live routes.
SELECT target_id FROM restream_routes WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND status IN ('pending', 'live');

-- name: FindFullRestreamTarget :one
-- One of these targets that has the most open routes; no row if there is none. The tenant's plan is locked.
SELECT target_id FROM restream_routes
WHERE tenant_id = @tenant_id AND target_id = ANY (@target_ids::text[]) AND status IN ('pending', 'live')
GROUP BY target_id HAVING count(*) >= @most::integer LIMIT 1;

-- name: ListRestreamRoutes :many
SELECT sqlc.embed(r), t.name AS target_name, t.platform AS target_platform
FROM restream_routes r JOIN restream_targets t ON t.id = r.target_id
WHERE r.tenant_id = @tenant_id AND r.stream_id = @stream_id AND (sqlc.narg('cursor')::text IS NULL OR r.id < sqlc.narg('cursor')::text)
ORDER BY r.id DESC LIMIT @max_rows;

-- name: GetLatestRestreamRoute :one
-- A stream's newest route to a target.
SELECT sqlc.embed(r), t.name AS target_name, t.platform AS target_platform
FROM restream_routes r JOIN restream_targets t ON t.id = r.target_id
WHERE r.tenant_id = @tenant_id AND r.stream_id = @stream_id AND r.target_id = @target_id ORDER BY r.id DESC LIMIT 1;

-- name: FindRestreamRoute :one
-- @sqlc-vet-disable tenant
-- Forwarders know only the route's id.
SELECT stream_id, tenant_id FROM restream_routes WHERE id = @id;

-- name: StartRestreamRoute :one
-- The stream is locked. No row if the route isn't pending.
UPDATE restream_routes r SET status = 'live', started_at = @now, lost_at = NULL, updated_at = @now
FROM restream_targets t
WHERE r.tenant_id = @tenant_id AND r.id = @id AND r.status = 'pending' AND t.id = r.target_id
RETURNING sqlc.embed(r), t.name AS target_name, t.platform AS target_platform;

-- name: FailRestreamRoute :one
-- The stream is locked. No row if the route is over.
UPDATE restream_routes r
SET status = 'failed', ended_at = @now, error_message = @error_message::text, health_at = NULL, updated_at = @now
FROM restream_targets t
WHERE r.tenant_id = @tenant_id AND r.id = @id AND r.status IN ('pending', 'live') AND t.id = r.target_id
RETURNING sqlc.embed(r), t.name AS target_name, t.platform AS target_platform;

-- name: EndRestreamRoutes :many
-- Ends the open routes of a locked stream, or the one to a target.
UPDATE restream_routes r SET status = 'ended', ended_at = @now, health_at = NULL, updated_at = @now
FROM restream_targets t
WHERE r.tenant_id = @tenant_id AND r.stream_id = @stream_id AND r.status IN ('pending', 'live') AND t.id = r.target_id
  AND (sqlc.narg('target_id')::text IS NULL OR r.target_id = sqlc.narg('target_id')::text)
RETURNING sqlc.embed(r), t.name AS target_name, t.platform AS target_platform;

-- name: EndTenantRestreamRoutes :many
-- Ends all open routes of a locked tenant.
UPDATE restream_routes r SET status = 'ended', ended_at = @now, health_at = NULL, updated_at = @now
FROM restream_targets t
WHERE r.tenant_id = @tenant_id AND r.status IN ('pending', 'live') AND t.id = r.target_id
RETURNING sqlc.embed(r), t.name AS target_name, t.platform AS target_platform;

-- name: ListStreamsOfRestreamTarget :many
-- Streams with an open route to a target.
SELECT stream_id FROM restream_routes
WHERE tenant_id = @tenant_id AND target_id = @target_id AND status IN ('pending', 'live') ORDER BY stream_id;

-- name: HasOpenRestreamRoute :one
SELECT EXISTS (SELECT FROM restream_routes WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND status IN ('pending', 'live'));

-- name: ListWantedRestreamRoutes :many
-- @sqlc-vet-disable tenant
-- The open routes of a stream that is on air on a node, or of all such streams. A node forwards the streams of all tenants.
SELECT r.id, r.stream_id, r.target_id, r.started_at, r.lost_at, t.address
FROM restream_routes r JOIN restream_targets t ON t.id = r.target_id JOIN streams s ON s.id = r.stream_id
WHERE r.status IN ('pending', 'live') AND t.address IS NOT NULL AND s.status IN ('LIVE', 'RECONNECTING') AND s.node = @node
  AND (sqlc.narg('stream_id')::text IS NULL OR r.stream_id = sqlc.narg('stream_id')::text)
ORDER BY r.id;

-- name: SaveRestreamHealth :exec
-- @sqlc-vet-disable tenant
-- A node reports on the routes of streams that are on air on it, of all tenants. A zero time and an empty text stand for NULL. Routes that
-- another transaction has locked are left for the next report.
WITH free AS (
    SELECT o.id FROM restream_routes o JOIN streams s ON s.id = o.stream_id
    WHERE o.id = ANY (@ids::text[]) AND o.status IN ('pending', 'live') AND s.node = @node::text
    ORDER BY o.id FOR UPDATE OF o SKIP LOCKED
)
UPDATE restream_routes r SET bitrate_kbps = b.bitrate_kbps, dropped_frames = b.dropped_frames, reconnects = b.reconnects,
    last_error = nullif(b.last_error, ''), connected_at = nullif(b.connected_at, '0001-01-01 00:00:00Z'), lost_at = nullif(b.lost_at, '0001-01-01 00:00:00Z'), health_at = @now::timestamptz
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@bitrates::integer[]) AS bitrate_kbps, unnest(@dropped::bigint[]) AS dropped_frames,
        unnest(@reconnects::bigint[]) AS reconnects, unnest(@last_errors::text[]) AS last_error,
        unnest(@connected::timestamptz[]) AS connected_at, unnest(@lost::timestamptz[]) AS lost_at) b
WHERE r.id = b.id AND r.id IN (SELECT f.id FROM free f);

-- name: DeleteOldestRestreamRoutes :exec
-- Ended routes of a locked stream beyond its newest ones, unless its tenant is on legal hold. One attachment adds at most 8.
DELETE FROM restream_routes o WHERE o.tenant_id = @tenant_id AND o.tenant_id <> ALL (ARRAY(SELECT held_tenants())) AND o.status IN ('ended', 'failed') AND o.id = ANY (ARRAY(
    SELECT r.id FROM restream_routes r WHERE r.tenant_id = @tenant_id AND r.stream_id = @stream_id
    ORDER BY r.id DESC OFFSET @kept::integer LIMIT 100));

-- name: DeleteRestreamRoutesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM restream_routes WHERE id = ANY (ARRAY(
    SELECT r.id FROM restream_routes r WHERE r.ended_at < @before::timestamptz AND r.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY r.ended_at LIMIT @max_rows));

-- name: DeleteRestreamTargetsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Keeps targets to which routes refer.
DELETE FROM restream_targets WHERE id = ANY (ARRAY(
    SELECT t.id FROM restream_targets t
    WHERE t.deleted_at < @before::timestamptz AND t.tenant_id <> ALL (ARRAY(SELECT held_tenants())) AND NOT EXISTS (SELECT FROM restream_routes r WHERE r.target_id = t.id)
    ORDER BY t.deleted_at LIMIT @max_rows));
