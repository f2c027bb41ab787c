-- name: CreateEvent :exec
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, endpoint_id)
VALUES (@id, @tenant_id, @event, @subject, @payload, @occurred_at, @endpoint_id);

-- name: ListEvents :many
SELECT * FROM events WHERE tenant_id = @tenant_id ORDER BY id;

-- name: DeleteEventsBefore :execrows
-- @sqlc-vet-disable tenant
-- The oldest ones that no delivery needs, max_rows at most.
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < @before
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
    ORDER BY e.occurred_at LIMIT @max_rows));
