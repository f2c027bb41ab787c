-- name: CreatePlay :exec
-- If the stop arrived before its play, it has left an ended row, which stays ended.
INSERT INTO plays (id, tenant_id, stream_id, started_at) VALUES (@id, @tenant_id, @stream_id, @now)
ON CONFLICT (id) DO NOTHING;

-- name: EndPlay :exec
INSERT INTO plays (id, tenant_id, stream_id, started_at, ended_at) VALUES (@id, @tenant_id, @stream_id, @now, @now)
ON CONFLICT (id) DO UPDATE SET ended_at = coalesce(plays.ended_at, excluded.ended_at);

-- name: EndKnownPlay :execrows
-- @sqlc-vet-disable tenant
-- For a stop that names a stream by a key or token that is no longer valid.
UPDATE plays SET ended_at = @now WHERE id = @id AND ended_at IS NULL;

-- name: EndStreamPlays :exec
UPDATE plays SET ended_at = @now WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND ended_at IS NULL;

-- name: DeletePlaysBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM plays WHERE id = ANY (ARRAY(SELECT p.id FROM plays p WHERE p.ended_at < @before
    AND p.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY p.ended_at LIMIT @max_rows));
