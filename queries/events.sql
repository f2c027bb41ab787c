-- name: CreateTestEvent :exec
-- For one endpoint alone. Its subject is its own, so it is number 1 of it.
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, endpoint_id, sequence)
VALUES (@id, @tenant_id, @event, @subject, @payload, @occurred_at, @endpoint_id, 1);

-- name: CountEvents :many
-- Adds new events to their subjects' counters, which stay locked until the commit, and returns these. One element per subject in
-- each array, in an order that everybody keeps to. Whoever calls it may write events: their positions are given after this.
INSERT INTO event_subjects AS s (tenant_id, subject, sequence)
SELECT @tenant_id, unnest(@subjects::text[]), unnest(@counts::bigint[]) FROM (SELECT mark_emitting() AS done OFFSET 0) m WHERE m.done
ON CONFLICT (tenant_id, subject) DO UPDATE SET sequence = s.sequence + excluded.sequence
RETURNING s.subject, s.sequence;

-- name: CreateEvents :exec
-- One element per event in each array; sequences are their numbers within their subjects.
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
SELECT unnest(@ids::text[]), @tenant_id, unnest(@events::text[]), unnest(@subjects::text[]), unnest(@payloads::text[])::json, @occurred_at::timestamptz,
    unnest(@sequences::bigint[]);

-- name: GetEventHorizon :one
-- @sqlc-vet-disable tenant
-- A number, no event: up to which position ListEventsAfter may read.
SELECT event_horizon();

-- name: ListEvents :many
-- For tests.
SELECT * FROM events WHERE tenant_id = @tenant_id ORDER BY position;

-- name: GetEventPosition :one
SELECT position FROM events WHERE tenant_id = @tenant_id AND id = @id AND endpoint_id IS NULL;

-- name: ListEventsBefore :many
-- Newest first. Here and below, tests of endpoints are left out.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position < @position AND e.endpoint_id IS NULL
ORDER BY e.position DESC LIMIT @max_rows;

-- name: ListEventsAfter :many
-- Oldest first, up to the horizon.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position > @position AND e.position <= @horizon AND e.endpoint_id IS NULL
ORDER BY e.position LIMIT @max_rows;

-- name: ListNamedEventsBefore :many
-- ListEventsBefore of these names. Reads max_rows of each along the index, however many others lie between.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position = ANY (ARRAY(
    SELECT p.position FROM unnest(@events::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT o.position FROM events o
        WHERE o.tenant_id = @tenant_id AND o.event = n.name AND o.position < @position AND o.endpoint_id IS NULL
        ORDER BY o.position DESC LIMIT @max_rows) p
    ORDER BY p.position DESC LIMIT @max_rows))
ORDER BY e.position DESC;

-- name: ListNamedEventsAfter :many
-- ListEventsAfter of these names, read as in ListNamedEventsBefore.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position = ANY (ARRAY(
    SELECT p.position FROM unnest(@events::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT o.position FROM events o
        WHERE o.tenant_id = @tenant_id AND o.event = n.name AND o.position > @position AND o.position <= @horizon AND o.endpoint_id IS NULL
        ORDER BY o.position LIMIT @max_rows) p
    ORDER BY p.position LIMIT @max_rows))
ORDER BY e.position;

-- name: ListSubjectEventsBefore :many
-- ListEventsBefore of one subject; events is empty for all.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.subject = @subject AND e.position < @position AND e.endpoint_id IS NULL
  AND (cardinality(@events::text[]) = 0 OR e.event = ANY (@events::text[]))
ORDER BY e.position DESC LIMIT @max_rows;

-- name: ListSubjectEventsAfter :many
-- ListEventsAfter of one subject.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.subject = @subject AND e.position > @position AND e.position <= @horizon AND e.endpoint_id IS NULL
  AND (cardinality(@events::text[]) = 0 OR e.event = ANY (@events::text[]))
ORDER BY e.position LIMIT @max_rows;

-- name: DeleteEventsBefore :execrows
-- @sqlc-vet-disable tenant
-- The oldest ones that no delivery needs, max_rows at most.
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < @before
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
    AND NOT EXISTS (SELECT 1 FROM event_fanouts f WHERE f.event_id = e.id)
    ORDER BY e.occurred_at LIMIT @max_rows));
