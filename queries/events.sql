-- name: CreateEvent :exec
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, endpoint_id)
VALUES (@id, @tenant_id, @event, @subject, @payload, @occurred_at, @endpoint_id);

-- name: CreateEvents :exec
-- One element per event in each array.
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at)
SELECT unnest(@ids::text[]), @tenant_id, unnest(@events::text[]), unnest(@subjects::text[]), unnest(@payloads::text[])::json, @occurred_at::timestamptz;

-- name: ListEvents :many
SELECT * FROM events WHERE tenant_id = @tenant_id ORDER BY id;

-- name: DeleteEventsBefore :execrows
-- @sqlc-vet-disable tenant
-- The oldest ones that no delivery needs, max_rows at most.
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < @before
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
    ORDER BY e.occurred_at LIMIT @max_rows));
