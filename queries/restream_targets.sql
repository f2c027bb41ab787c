-- name: CreateRestreamTarget :one
INSERT INTO restream_targets (id, tenant_id, name, platform, address, address_end, created_at, updated_at)
VALUES (@id, @tenant_id, @name, @platform, @address, @address_end, @now, @now) RETURNING *;

-- name: ListRestreamTargets :many
SELECT * FROM restream_targets
WHERE tenant_id = @tenant_id AND deleted_at IS NULL AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: CountRestreamTargets :one
SELECT count(*) FROM restream_targets WHERE tenant_id = @tenant_id AND deleted_at IS NULL;

-- name: GetRestreamTargetCreation :one
-- When the tenant made the target before its newest skipped ones, deleted ones included.
SELECT created_at FROM restream_targets WHERE tenant_id = @tenant_id AND created_at > @since::timestamptz
ORDER BY created_at DESC LIMIT 1 OFFSET @skipped;

-- name: ShareRestreamTargets :many
-- Locks targets against their deletion, until the transaction ends.
SELECT id FROM restream_targets WHERE tenant_id = @tenant_id AND id = ANY(@ids::text[]) AND deleted_at IS NULL ORDER BY id FOR KEY SHARE;

-- name: DeleteRestreamTarget :one
UPDATE restream_targets SET address = NULL, deleted_at = @now, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: UpdateRestreamTarget :one
UPDATE restream_targets SET name = @name, platform = @platform, address = @address, address_end = @address_end, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL RETURNING *;

-- name: LockRestreamTarget :one
SELECT * FROM restream_targets WHERE tenant_id = @tenant_id AND id = @id AND deleted_at IS NULL FOR UPDATE;

-- name: StartRestreamTest :exec
-- The target is locked.
UPDATE restream_targets SET test_until = @test_until::timestamptz WHERE tenant_id = @tenant_id AND id = @id;

-- name: EndRestreamTest :exec
-- Does nothing if a later test has begun.
UPDATE restream_targets SET test_until = NULL WHERE tenant_id = @tenant_id AND id = @id AND test_until = @test_until::timestamptz;

-- name: FindTestedRestreamTarget :one
-- One of these locked targets that is being tested; no row if there is none.
SELECT id FROM restream_targets WHERE tenant_id = @tenant_id AND id = ANY (@ids::text[]) AND test_until > @now::timestamptz LIMIT 1;

-- name: ListTargetsToReseal :many
-- @sqlc-vet-disable tenant
-- The master key is the same for all tenants. Lists targets with an address that another master key encrypted.
SELECT * FROM restream_targets
WHERE id > @after AND substring(address FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
ORDER BY id LIMIT @max_rows;

-- name: ResealTarget :exec
-- @sqlc-vet-disable tenant
-- As ListTargetsToReseal. Does nothing if the address was replaced meanwhile.
UPDATE restream_targets SET address = @address WHERE id = @id AND address = @address_before;
