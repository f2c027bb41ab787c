-- name: CreateStreamKey :exec
INSERT INTO stream_keys (id, tenant_id, stream_id, hash, last4, created_at) VALUES (@id, @tenant_id, @stream_id, @hash, @last4, @now);

-- name: DeleteOldestStreamKeys :exec
-- Deletes all keys of a stream but the newest, unless its tenant is on legal hold.
DELETE FROM stream_keys d WHERE d.tenant_id = @tenant_id AND d.tenant_id <> ALL (ARRAY(SELECT held_tenants())) AND d.id = ANY (ARRAY(
    SELECT k.id FROM stream_keys k WHERE k.stream_id = @stream_id ORDER BY k.created_at DESC, k.id DESC OFFSET @keep::integer));

-- name: GetStreamKey :one
-- @sqlc-vet-disable tenant
-- Admins see the keys of all tenants.
SELECT * FROM stream_keys WHERE id = @id;

-- name: RevokeStreamKey :exec
-- The row of the stream is locked.
UPDATE stream_keys SET revoked_at = @now, revoked_reason = @reason WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListStreamKeyViews :many
-- @sqlc-vet-disable tenant
-- The ids are keys of all tenants. Newest first.
SELECT sqlc.embed(k), t.name AS tenant_name, s.name AS stream_name, s.blocked_until, (s.key_hash = k.hash)::boolean AS current
FROM stream_keys k JOIN streams s ON s.id = k.stream_id JOIN tenants t ON t.id = k.tenant_id
WHERE k.id = ANY (@ids::text[]) ORDER BY k.created_at DESC, k.id DESC;

-- name: CountStreamKeys :one
-- @sqlc-vet-disable tenant
-- The kept number of the keys of one tenant, or of all.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c
WHERE c.scope = CASE WHEN sqlc.narg('tenant_id')::text IS NULL THEN 'all_' ELSE '' END || @scope::text
    AND c.key = coalesce(sqlc.narg('tenant_id')::text, '');

-- name: ListNewestStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k ORDER BY k.created_at, k.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestUsedStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k WHERE k.consumed_at IS NOT NULL ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestUsedStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k WHERE k.consumed_at IS NOT NULL ORDER BY k.created_at, k.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestUnusedStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k WHERE k.consumed_at IS NULL ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestUnusedStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of all tenants.
SELECT k.id FROM stream_keys k WHERE k.consumed_at IS NULL ORDER BY k.created_at, k.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListNewestTenantStreamKeys :many
SELECT k.id FROM stream_keys k
WHERE k.tenant_id = @tenant_id AND (sqlc.narg('used')::boolean IS NULL OR (k.consumed_at IS NOT NULL) = sqlc.narg('used'))
ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListOldestTenantStreamKeys :many
SELECT k.id FROM stream_keys k
WHERE k.tenant_id = @tenant_id AND (sqlc.narg('used')::boolean IS NULL OR (k.consumed_at IS NOT NULL) = sqlc.narg('used'))
ORDER BY k.created_at, k.id LIMIT @max_rows OFFSET @skip::bigint;

-- name: FindStreamsByText :many
-- @sqlc-vet-disable tenant
-- Streams of one tenant, or of all, in any order.
SELECT s.id FROM streams s
WHERE (s.name ILIKE @q OR s.id ILIKE @q) AND (sqlc.narg('tenant_id')::text IS NULL OR s.tenant_id = sqlc.narg('tenant_id')) LIMIT @max_rows;

-- name: FindTenantsByText :many
-- @sqlc-vet-disable tenant
-- One tenant, or all, in any order.
SELECT t.id FROM tenants t
WHERE (t.name ILIKE @q OR t.id ILIKE @q) AND (sqlc.narg('tenant_id')::text IS NULL OR t.id = sqlc.narg('tenant_id')) LIMIT @max_rows;

-- name: FindStreamKeys :many
-- @sqlc-vet-disable tenant
-- The keys of these streams and tenants, and those with these last characters; the newest of each first.
WITH found AS (
    SELECT k.id, k.created_at FROM unnest(@stream_ids::text[]) f (id)
        CROSS JOIN LATERAL (SELECT * FROM stream_keys x WHERE x.stream_id = f.id ORDER BY x.created_at DESC, x.id DESC LIMIT @max_rows) k
    WHERE (sqlc.narg('used')::boolean IS NULL OR (k.consumed_at IS NOT NULL) = sqlc.narg('used'))
    UNION
    SELECT k.id, k.created_at FROM unnest(@tenant_ids::text[]) f (id)
        CROSS JOIN LATERAL (SELECT * FROM stream_keys x WHERE x.tenant_id = f.id
            AND (sqlc.narg('used')::boolean IS NULL OR (x.consumed_at IS NOT NULL) = sqlc.narg('used'))
            ORDER BY x.created_at DESC, x.id DESC LIMIT @max_rows) k
    UNION
    (SELECT k.id, k.created_at FROM stream_keys k WHERE k.last4 = @last4::text
        AND (sqlc.narg('tenant_id')::text IS NULL OR k.tenant_id = sqlc.narg('tenant_id'))
        AND (sqlc.narg('used')::boolean IS NULL OR (k.consumed_at IS NOT NULL) = sqlc.narg('used'))
        ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows)
)
SELECT f.id FROM found f ORDER BY f.created_at DESC, f.id DESC LIMIT @max_rows;

-- name: FindNewestStreamKeys :many
-- @sqlc-vet-disable tenant
-- Searches the keys from the newest on: for a text that many streams contain.
SELECT k.id FROM stream_keys k JOIN streams s ON s.id = k.stream_id JOIN tenants t ON t.id = k.tenant_id
WHERE (s.name ILIKE @q OR s.id ILIKE @q OR t.name ILIKE @q OR t.id ILIKE @q OR k.last4 = @last4::text)
    AND (sqlc.narg('tenant_id')::text IS NULL OR k.tenant_id = sqlc.narg('tenant_id'))
    AND (sqlc.narg('used')::boolean IS NULL OR (k.consumed_at IS NOT NULL) = sqlc.narg('used'))
ORDER BY k.created_at DESC, k.id DESC LIMIT @max_rows;
