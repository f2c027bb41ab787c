-- name: CreateStream :one
INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, project_id, reconnect_window_sec, recording_enabled,
    scheduled_at, poster_url, product_ids, public_replay, rendition_heights, rendition_kbps, metadata, created_at, updated_at)
VALUES (@id, @tenant_id, @name, @mode, @key_hash, @key_last4, @project_id, @reconnect_window_sec, @recording_enabled,
    sqlc.narg('scheduled_at'), sqlc.narg('poster_url'), sqlc.narg('product_ids'), sqlc.narg('public_replay'), @rendition_heights, @rendition_kbps,
    @metadata, @now, @now) RETURNING *;

-- name: ListStreamsWithPlays :many
-- @sqlc-vet-disable tenant
-- The streams of several tenants, with their players on SRS servers.
SELECT sqlc.embed(s), (SELECT count(*) FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL)::integer AS plays
FROM streams s WHERE s.id = ANY (@ids::text[]) ORDER BY s.tenant_id, s.id;

-- name: GetStream :one
SELECT sqlc.embed(s), (SELECT count(*) FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL)::integer AS plays
FROM streams s WHERE s.tenant_id = @tenant_id AND s.id = @id;

-- name: GetStreamPlace :one
-- @sqlc-vet-disable tenant
-- A playback token names only the stream. Returns the node on which the stream was published, and
-- the node's address while it is alive.
SELECT s.node, s.publisher_id, s.status, coalesce(n.url, '')::text AS url
FROM streams s LEFT JOIN nodes n ON n.id = s.node AND n.seen_at >= @alive_since WHERE s.id = @id;

-- name: ListStreams :many
SELECT sqlc.embed(s), (SELECT count(*) FROM plays p WHERE p.stream_id = s.id AND p.ended_at IS NULL)::integer AS plays
FROM streams s
WHERE s.tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR s.id < sqlc.narg('cursor')::text)
ORDER BY s.id DESC LIMIT @max_rows;

-- name: LockStream :one
-- @sqlc-vet-disable tenant
-- The media plane knows only the stream's id.
SELECT * FROM streams WHERE id = @id FOR UPDATE;

-- name: LockStreamByKey :one
-- @sqlc-vet-disable tenant
-- The key determines the tenant.
SELECT sqlc.embed(s), t.status AS tenant_status
FROM streams s JOIN tenants t ON t.id = s.tenant_id
WHERE s.key_hash = @key_hash FOR UPDATE OF s;

-- name: ShareTenantByKey :exec
-- @sqlc-vet-disable tenant
-- The key determines the tenant.
SELECT t.status FROM tenants t WHERE t.id = (SELECT s.tenant_id FROM streams s WHERE s.key_hash = @key_hash) FOR SHARE;

-- name: LockStreamOfRoom :one
-- @sqlc-vet-disable tenant
-- The room's ticket was checked, and names only the stream.
SELECT sqlc.embed(s), t.status AS tenant_status
FROM streams s JOIN tenants t ON t.id = s.tenant_id
WHERE s.id = @id FOR UPDATE OF s;

-- name: ShareTenantOfStream :exec
-- @sqlc-vet-disable tenant
-- The room's ticket was checked, and names only the stream.
SELECT t.status FROM tenants t WHERE t.id = (SELECT s.tenant_id FROM streams s WHERE s.id = @id) FOR SHARE;

-- name: LockTenantStreams :many
-- Streams that are on air, or about to be.
SELECT * FROM streams
WHERE tenant_id = @tenant_id AND (status IN ('LIVE', 'RECONNECTING') OR publisher_id IS NOT NULL)
ORDER BY id FOR UPDATE;

-- name: CountPublishing :one
-- The streams that are on air or about to be. The condition is that of streams_publishing_idx.
SELECT count(*) FROM streams WHERE tenant_id = @tenant_id AND (status IN ('LIVE', 'RECONNECTING') OR publisher_id IS NOT NULL);

-- name: ListStreamsOnAir :many
SELECT id FROM streams WHERE tenant_id = @tenant_id AND status IN ('LIVE', 'RECONNECTING') ORDER BY id;

-- name: GetStreamFate :one
-- @sqlc-vet-disable tenant
-- The media plane knows only the stream's id.
SELECT s.status, s.publisher_id, s.node, t.status AS tenant_status
FROM streams s JOIN tenants t ON t.id = s.tenant_id WHERE s.id = @id;

-- name: GetStreamByKey :one
-- @sqlc-vet-disable tenant
-- The key determines the tenant.
SELECT * FROM streams WHERE key_hash = @key_hash;

-- name: GetStreamForPlayback :one
-- @sqlc-vet-disable tenant
-- A playback token names only the stream.
SELECT * FROM streams WHERE id = @id;

-- name: RotateStreamKey :one
UPDATE streams SET key_hash = @key_hash, key_last4 = @key_last4, key_revoked_at = NULL, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetStreamKeyRevoked :exec
-- The row is locked.
UPDATE streams SET key_revoked_at = @now::timestamptz, updated_at = @now::timestamptz WHERE tenant_id = @tenant_id AND id = @id;

-- name: SetStreamPublisher :exec
-- With used_key, also writes that the stream's key was used, at most once a minute. A key that a server of an older version
-- has issued has no row yet.
WITH used AS (
    INSERT INTO stream_keys (id, tenant_id, stream_id, hash, last4, consumed_at, last_used_at, created_at)
    SELECT @key_id, s.tenant_id, s.id, s.key_hash, s.key_last4, @now, @now, @now FROM streams s
    WHERE s.tenant_id = @tenant_id AND s.id = @id AND @used_key::boolean
    ON CONFLICT (hash) DO UPDATE SET consumed_at = coalesce(stream_keys.consumed_at, excluded.consumed_at), last_used_at = excluded.last_used_at
    WHERE stream_keys.last_used_at IS NULL OR stream_keys.last_used_at < excluded.last_used_at - interval '1 minute'
)
UPDATE streams u SET publisher_id = @publisher_id, node = @node, updated_at = @now WHERE u.tenant_id = @tenant_id AND u.id = @id;

-- name: SetStreamRejected :exec
-- A reason that is stored already is not written again.
UPDATE streams SET rejected_reason = @rejected_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND rejected_reason IS DISTINCT FROM @rejected_reason;

-- name: SetStreamState :one
-- Writes all columns that the state machine changes.
UPDATE streams SET status = @status, publisher_id = @publisher_id, started_at = @started_at, ended_at = @ended_at,
    reconnect_until = @reconnect_until, blocked_until = @blocked_until, rejected_reason = @rejected_reason, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: HasStream :one
SELECT EXISTS (SELECT 1 FROM streams WHERE tenant_id = @tenant_id AND id = @id);

-- name: LockStreamOfTenant :one
SELECT * FROM streams WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: UpdateStream :exec
-- The row is locked.
UPDATE streams SET name = @name, scheduled_at = sqlc.narg('scheduled_at'), poster_url = sqlc.narg('poster_url'), product_ids = sqlc.narg('product_ids'),
    public_replay = sqlc.narg('public_replay'), rendition_heights = @rendition_heights, rendition_kbps = @rendition_kbps,
    metadata = @metadata, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: CountOtherViewers :one
-- The viewers of the tenant's streams on other nodes and on SRS servers: as the nodes reported them last, and the players.
SELECT (
    (SELECT coalesce(sum(m.viewers), 0) FROM stream_media m JOIN streams s ON s.id = m.stream_id AND s.node = m.node
        WHERE s.tenant_id = @tenant_id AND (s.status IN ('LIVE', 'RECONNECTING') OR s.publisher_id IS NOT NULL)
        AND m.node <> @node::text AND m.seen_at >= @since::timestamptz)
    + (SELECT count(*) FROM plays p WHERE p.tenant_id = @tenant_id AND p.ended_at IS NULL AND p.id <> @except_id::text)
)::bigint;
