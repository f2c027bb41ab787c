-- name: CreateTestEvent :exec
-- An event for one endpoint only. It has its own subject, so its number is 1.
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, endpoint_id, sequence)
VALUES (@id, @tenant_id, @event, @subject, @payload, @occurred_at, @endpoint_id, 1);

-- name: CountEvents :many
-- Adds new events to their subjects' counters, which stay locked until the commit, and returns the counters. One element per subject
-- in each array, in the same order in every transaction. The caller may then write events: their positions are assigned after this.
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
-- The position up to which ListEventsAfter may read; a number, not an event.
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
-- Like ListEventsBefore, for events of these names. Reads max_rows of each along the index, however many others lie between.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position = ANY (ARRAY(
    SELECT p.position FROM unnest(@events::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT o.position FROM events o
        WHERE o.tenant_id = @tenant_id AND o.event = n.name AND o.position < @position AND o.endpoint_id IS NULL
        ORDER BY o.position DESC LIMIT @max_rows) p
    ORDER BY p.position DESC LIMIT @max_rows))
ORDER BY e.position DESC;

-- name: ListNamedEventsAfter :many
-- Like ListEventsAfter, for events of these names; reads as ListNamedEventsBefore does.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.position = ANY (ARRAY(
    SELECT p.position FROM unnest(@events::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT o.position FROM events o
        WHERE o.tenant_id = @tenant_id AND o.event = n.name AND o.position > @position AND o.position <= @horizon AND o.endpoint_id IS NULL
        ORDER BY o.position LIMIT @max_rows) p
    ORDER BY p.position LIMIT @max_rows))
ORDER BY e.position;

-- name: ListSubjectEventsBefore :many
-- Like ListEventsBefore, for one subject; an empty events means all.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.subject = @subject AND e.position < @position AND e.endpoint_id IS NULL
  AND (cardinality(@events::text[]) = 0 OR e.event = ANY (@events::text[]))
ORDER BY e.position DESC LIMIT @max_rows;

-- name: ListSubjectEventsAfter :many
-- Like ListEventsAfter, for one subject.
SELECT e.* FROM events e
WHERE e.tenant_id = @tenant_id AND e.subject = @subject AND e.position > @position AND e.position <= @horizon AND e.endpoint_id IS NULL
  AND (cardinality(@events::text[]) = 0 OR e.event = ANY (@events::text[]))
ORDER BY e.position LIMIT @max_rows;

-- name: DeleteEventsBefore :execrows
-- @sqlc-vet-disable tenant
-- Deletes the oldest events that no delivery refers to, max_rows at most.
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < @before
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id)
    AND NOT EXISTS (SELECT 1 FROM event_fanouts f WHERE f.event_id = e.id)
    ORDER BY e.occurred_at LIMIT @max_rows));
