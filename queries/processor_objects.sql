-- name: GetProcessorObject :one
-- @sqlc-vet-disable tenant
-- The platform's own.
SELECT processor_id FROM processor_objects WHERE name = @name;

-- name: SetProcessorObject :exec
-- @sqlc-vet-disable tenant
-- The platform's own. Keeps the first one.
INSERT INTO processor_objects (name, processor_id, created_at) VALUES (@name, @processor_id, @now) ON CONFLICT (name) DO NOTHING;

-- name: DeleteProcessorObject :exec
-- @sqlc-vet-disable tenant
-- The platform's own.
DELETE FROM processor_objects WHERE name = @name;
