-- name: StartCdnFile :exec
-- @sqlc-vet-disable tenant
-- Files belong to no tenant.
-- Without an effect if the file is known.
INSERT INTO cdn_files (hash, source, chunks, started_at) VALUES (@hash, @source, @chunks, @now) ON CONFLICT (hash) DO NOTHING;

-- name: FindCdnFile :one
-- @sqlc-vet-disable tenant
-- Files belong to no tenant.
SELECT * FROM cdn_files WHERE hash = @hash;

-- name: LockCdnFile :one
-- @sqlc-vet-disable tenant
-- Files belong to no tenant.
SELECT * FROM cdn_files WHERE hash = @hash FOR UPDATE;

-- name: AdvanceCdnFile :exec
-- @sqlc-vet-disable tenant
-- Files belong to no tenant.
UPDATE cdn_files SET done = @done, finished_at = CASE WHEN @done::integer = chunks THEN @now::timestamptz END WHERE hash = @hash;
