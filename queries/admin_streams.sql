-- name: ListAdminStreamViews :many
-- @sqlc-vet-disable tenant
-- The ids are streams of all tenants. Newest first.
SELECT sqlc.embed(s), t.name AS tenant_name,
    (SELECT count(*) FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL)::integer AS plays,
    m.viewers, m.video_kbps, m.audio_kbps, m.fps, m.width, m.height, m.video_codec, m.audio_codec, m.b_frames, m.key_interval_ms, m.ladder,
    p.id AS connection, p.source, p.remote_ip, p.node AS publisher_node, p.accepted_at, p.live_at
FROM streams s JOIN tenants t ON t.id = s.tenant_id
    LEFT JOIN stream_media m ON m.stream_id = s.id AND m.node = s.node AND m.seen_at >= @since
    LEFT JOIN publishers p ON p.id = s.publisher_id
WHERE s.id = ANY (@ids::text[]) ORDER BY s.created_at DESC, s.id DESC;

-- name: CountStreamsOnAir :one
-- @sqlc-vet-disable tenant
-- Of one tenant, or of all. status is LIVE, RECONNECTING, or null for both.
SELECT count(*) FROM streams s WHERE s.status IN ('LIVE', 'RECONNECTING')
    AND (sqlc.narg('status')::text IS NULL OR s.status = sqlc.narg('status'))
    AND (sqlc.narg('tenant_id')::text IS NULL OR s.tenant_id = sqlc.narg('tenant_id'));

-- name: ListPageOnAir :many
-- @sqlc-vet-disable tenant
-- Of one tenant, or of all. status is LIVE, RECONNECTING, or null for both.
SELECT s.id FROM streams s WHERE s.status IN ('LIVE', 'RECONNECTING')
    AND (sqlc.narg('status')::text IS NULL OR s.status = sqlc.narg('status'))
    AND (sqlc.narg('tenant_id')::text IS NULL OR s.tenant_id = sqlc.narg('tenant_id'))
ORDER BY s.created_at DESC, s.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: CountStreamRows :one
-- @sqlc-vet-disable tenant
-- The kept number of streams of one tenant, or of all: all, or those that have been on air.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c
WHERE c.scope = CASE WHEN sqlc.narg('tenant_id')::text IS NULL THEN 'all_' ELSE '' END || @scope::text
    AND c.key = coalesce(sqlc.narg('tenant_id')::text, '');

-- name: ListNewestAired :many
-- @sqlc-vet-disable tenant
-- Streams of all tenants that have been on air, or only those that have ended.
SELECT s.id FROM streams s WHERE s.status <> 'IDLE' AND (NOT @ended::boolean OR s.status = 'ENDED')
ORDER BY s.created_at DESC, s.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestAired :many
-- @sqlc-vet-disable tenant
-- Streams of all tenants that have been on air, or only those that have ended.
SELECT s.id FROM streams s WHERE s.status <> 'IDLE' AND (NOT @ended::boolean OR s.status = 'ENDED')
ORDER BY s.created_at, s.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestIdle :many
-- @sqlc-vet-disable tenant
-- Streams of all tenants that were never on air.
SELECT s.id FROM streams s WHERE s.status = 'IDLE' ORDER BY s.created_at DESC, s.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestIdle :many
-- @sqlc-vet-disable tenant
-- Streams of all tenants that were never on air.
SELECT s.id FROM streams s WHERE s.status = 'IDLE' ORDER BY s.created_at, s.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestOfTenant :many
SELECT s.id FROM streams s WHERE s.tenant_id = @tenant_id AND s.status = ANY (@statuses::text[])
ORDER BY s.created_at DESC, s.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestOfTenant :many
SELECT s.id FROM streams s WHERE s.tenant_id = @tenant_id AND s.status = ANY (@statuses::text[])
ORDER BY s.created_at, s.id LIMIT @max_rows OFFSET @skip::bigint;
