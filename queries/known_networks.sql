-- name: IsKnownNetwork :one
-- @sqlc-vet-disable tenant
-- E-mail addresses are unique over all tenants.
SELECT EXISTS (SELECT 1 FROM known_networks WHERE pair_hash = ANY (@pair_hashes::bytea[]) AND seen_at >= @since) AS known;

-- name: PutKnownNetwork :exec
-- @sqlc-vet-disable tenant
-- Writes at most once a day per pair.
INSERT INTO known_networks (pair_hash, seen_at) VALUES (@pair_hash, @now)
ON CONFLICT (pair_hash) DO UPDATE SET seen_at = excluded.seen_at WHERE known_networks.seen_at < @stale;

-- name: DeleteKnownNetworksBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention of all tenants.
DELETE FROM known_networks WHERE pair_hash = ANY (ARRAY(
    SELECT k.pair_hash FROM known_networks k WHERE k.seen_at < @before ORDER BY k.seen_at LIMIT @max_rows));
