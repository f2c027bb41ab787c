-- name: CreateCdnRequests :many
-- @sqlc-vet-disable tenant
-- Rows belong to no tenant.
-- Returns the keys that are new. Takes them in one order, so two imports can't deadlock.
INSERT INTO cdn_requests (key, imported_at) SELECT DISTINCT unnest(@keys::bytea[]) AS key, @now::timestamptz ORDER BY 1
ON CONFLICT (key) DO NOTHING RETURNING key;

-- name: DeleteCdnRequestsBefore :execrows
-- @sqlc-vet-disable tenant
-- Rows belong to no tenant.
DELETE FROM cdn_requests WHERE key = ANY (ARRAY(
    SELECT r.key FROM cdn_requests r WHERE r.imported_at < @before::timestamptz ORDER BY r.imported_at LIMIT @max_rows));
