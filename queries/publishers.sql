-- name: GetPublisher :one
-- @sqlc-vet-disable tenant
-- Reports from the media plane name only the connection.
SELECT * FROM publishers WHERE id = @id;

-- name: CreatePublisher :one
-- No row if the connection is already stored.
INSERT INTO publishers (id, tenant_id, stream_id, source, node, remote_ip, key_hash, accepted_at, ended_at)
VALUES (@id, @tenant_id, @stream_id, @source, @node, @remote_ip, @key_hash, @now, @ended_at)
ON CONFLICT (id) DO NOTHING RETURNING *;

-- name: SetPublisherLive :exec
UPDATE publishers SET live_at = @now WHERE tenant_id = @tenant_id AND id = @id AND live_at IS NULL;

-- name: EndPublishers :exec
-- Covers all connections of the stream, or all except one that takes over.
UPDATE publishers SET ended_at = @now
WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND ended_at IS NULL AND id <> @except_id;

-- name: EndPublisher :exec
UPDATE publishers SET ended_at = @now WHERE tenant_id = @tenant_id AND id = @id AND ended_at IS NULL;

-- name: ListOpenPublishers :many
-- @sqlc-vet-disable tenant
-- Connections that a process held when it died; called when it starts again.
SELECT * FROM publishers WHERE node = @node AND source IN ('rtmp', 'webrtc', 'session') AND ended_at IS NULL ORDER BY accepted_at, id;

-- name: ListAcceptedKeys :many
-- @sqlc-vet-disable tenant
-- The stream keys of encoders that published over RTMP after a time, the last used first: one row per network and key, at
-- most per_network rows of one network. A network is an IPv4 address or an IPv6 /64, as in the ingest, which counts refused
-- keys by network, over all tenants. RTMP stores only addresses with a colon that can be cast to inet, except for their zone.
WITH used AS (
    SELECT CASE WHEN p.remote_ip LIKE '%:%' THEN host(network(set_masklen(split_part(p.remote_ip, '%', 1)::inet, 64)))
                ELSE p.remote_ip END::text AS network,
           s.key_hash, max(coalesce(p.ended_at, @now::timestamptz))::timestamptz AS used_at
    FROM publishers p JOIN streams s ON s.tenant_id = p.tenant_id AND s.id = p.stream_id
    WHERE p.source = 'rtmp' AND (p.ended_at >= @since::timestamptz OR p.ended_at IS NULL)
    GROUP BY 1, s.key_hash
), ranked AS (
    SELECT used.*, row_number() OVER (PARTITION BY used.network ORDER BY used.used_at DESC, used.key_hash) AS place FROM used
)
SELECT network, key_hash, used_at FROM ranked WHERE place <= @per_network::int
ORDER BY used_at DESC, network, key_hash LIMIT @max_rows;

-- name: DeletePublishersBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM publishers WHERE id = ANY (ARRAY(
    SELECT p.id FROM publishers p WHERE p.ended_at < @before AND p.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY p.ended_at LIMIT @max_rows));
