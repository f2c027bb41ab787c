-- name: CreateProcessorEvent :execrows
-- @sqlc-vet-disable tenant
-- The processor names accounts, not tenants. No row: the event is already stored.
INSERT INTO processor_events (id, type, account_id, payload, received_at, processed_at)
VALUES (@id, @type, @account_id, @payload, @received_at, @processed_at)
ON CONFLICT (id) DO NOTHING;

-- name: GetProcessorEvent :one
-- @sqlc-vet-disable tenant
-- As CreateProcessorEvent.
SELECT * FROM processor_events WHERE id = @id;

-- name: SetProcessorEventProcessed :exec
-- @sqlc-vet-disable tenant
-- As CreateProcessorEvent.
UPDATE processor_events SET processed_at = @now::timestamptz WHERE id = @id AND processed_at IS NULL;

-- name: DeleteProcessorEventsBefore :execrows
-- @sqlc-vet-disable tenant
-- Deletes the oldest events, max_rows at most: one statement must not take long.
DELETE FROM processor_events WHERE id = ANY (ARRAY(
    SELECT e.id FROM processor_events e
    WHERE e.received_at < @before AND (e.processed_at IS NOT NULL OR e.received_at < @abandoned)
    ORDER BY e.received_at LIMIT @max_rows));
