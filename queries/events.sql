-- name: CreateTestEvent :exec
-- An event for one endpoint only, whose delivery the caller writes. It has its own subject, so its number is 1.
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, endpoint_id, sequence, fanned_at)
VALUES (@id, @tenant_id, @event, @subject, @payload, @occurred_at, @endpoint_id, 1, @occurred_at);

-- name: CreateEvents :many
-- Writes events with the next numbers of their subjects and with the active endpoints that subscribe to them. One element per event
-- in each array. Returns the events that an endpoint gets, with the number of endpoints; the others are marked as fanned out.
-- The endpoints are those at the start of the statement, which may wait for a subject's counter afterwards. It rarely waits, because the
-- transactions that emit events of a subject already wait for each other at its row lock.
-- The subjects' counters stay locked until the commit; every transaction locks them in the same order. An event's position is
-- assigned after mark_emitting: each row of the last INSERT comes from a counter, and the counters come after the mark.
-- "matched" is MATERIALIZED so that the endpoints are read once for each name. Otherwise the planner reads them twice for each event.
WITH given AS (
    SELECT generate_series(1, cardinality(@ids::text[])) AS n, unnest(@ids::text[]) AS id, unnest(@events::text[]) AS event,
        unnest(@subjects::text[]) AS subject, unnest(@payloads::text[])::json AS payload
), fresh AS (
    SELECT g.subject, count(*) AS events FROM given g GROUP BY g.subject
), marked AS MATERIALIZED (
    SELECT mark_emitting() AS done
), counted AS (
    INSERT INTO event_subjects AS s (tenant_id, subject, sequence)
    SELECT @tenant_id, f.subject, f.events FROM marked m CROSS JOIN fresh f WHERE m.done ORDER BY f.subject COLLATE "C"
    ON CONFLICT (tenant_id, subject) DO UPDATE SET sequence = s.sequence + excluded.sequence
    RETURNING s.subject, s.sequence
), matched AS MATERIALIZED (
    SELECT k.event, ARRAY(
        SELECT w.id FROM webhook_endpoints w
        WHERE w.tenant_id = @tenant_id AND w.deleted_at IS NULL AND w.status = 'active' AND (cardinality(w.events) = 0 OR k.event = ANY (w.events))
    ) AS endpoint_ids
    FROM (SELECT DISTINCT g.event FROM given g) k
), made AS (
    INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence, endpoint_ids, fanned_at)
    SELECT g.id, @tenant_id, g.event, g.subject, g.payload, @occurred_at::timestamptz,
        c.sequence - f.events + row_number() OVER (PARTITION BY g.subject ORDER BY g.n), m.endpoint_ids,
        CASE WHEN cardinality(m.endpoint_ids) = 0 THEN @occurred_at::timestamptz END
    FROM given g JOIN fresh f ON f.subject = g.subject JOIN counted c ON c.subject = g.subject JOIN matched m ON m.event = g.event
    ORDER BY g.n
    RETURNING id, cardinality(endpoint_ids) AS deliveries
)
SELECT d.id, d.deliveries::integer AS deliveries FROM made d WHERE d.deliveries > 0;

-- name: ListWaitingTenants :many
-- @sqlc-vet-disable tenant
-- Tenants after the given one with events that wait for their deliveries, in order. Reads one entry of the index for each.
WITH RECURSIVE waiting (tenant_id) AS (
    (SELECT e.tenant_id FROM events e WHERE e.fanned_at IS NULL AND e.tenant_id > @after::text ORDER BY e.tenant_id LIMIT 1)
    UNION ALL
    SELECT n.tenant_id FROM waiting w CROSS JOIN LATERAL (
        SELECT e.tenant_id FROM events e WHERE e.fanned_at IS NULL AND e.tenant_id > w.tenant_id ORDER BY e.tenant_id LIMIT 1) n
)
SELECT tenant_id::text FROM waiting LIMIT @max_rows;

-- name: TakeWaitingEvents :many
-- Marks the first waiting events of each of these tenants as fanned out, max_each at most, and returns them with those of their
-- endpoints that are not deleted. Takes no further event once there are max_deliveries. The caller holds the tenants' locks of
-- TryLockFanOut since an earlier statement. The UPDATE finds its rows by their primary key: with "fanned_at IS NULL" the planner may
-- read the index of all waiting events for each of them. The order is that of the positions, which is that of the sequences within a subject.
WITH first AS (
    SELECT e.id, e.position, e.endpoint_ids, row_number() OVER (PARTITION BY t.tenant_id ORDER BY e.position) AS turn
    FROM unnest(@tenant_ids::text[]) AS t (tenant_id) CROSS JOIN LATERAL (
        SELECT o.id, o.position, o.endpoint_ids FROM events o
        WHERE o.tenant_id = t.tenant_id AND o.fanned_at IS NULL ORDER BY o.position LIMIT @max_each) e
), next AS (
    SELECT f.id, f.endpoint_ids, sum(cardinality(f.endpoint_ids)) OVER (ORDER BY f.turn, f.position) - cardinality(f.endpoint_ids) AS before FROM first f
), taken AS (
    UPDATE events e SET fanned_at = @now::timestamptz, endpoint_ids = '{}'
    WHERE e.id = ANY (ARRAY(SELECT n.id FROM next n WHERE n.before < @max_deliveries::bigint)) AND coalesce(e.fanned_at, '-infinity') = '-infinity'
    RETURNING e.id, e.tenant_id, e.subject, e.sequence, e.position
)
SELECT t.id AS event_id, t.tenant_id, t.subject, t.sequence, ARRAY(
    SELECT w.id FROM webhook_endpoints w
    WHERE w.tenant_id = t.tenant_id AND w.id = ANY (n.endpoint_ids) AND w.deleted_at IS NULL ORDER BY w.id)::text[] AS endpoint_ids
FROM taken t JOIN next n ON n.id = t.id ORDER BY t.position;

-- name: CountWaitingEvents :one
-- @sqlc-vet-disable tenant
-- The number of events of all tenants that wait for their deliveries, and the time of the oldest; the time given if there is none.
SELECT count(*) AS events, coalesce(min(occurred_at), @now::timestamptz)::timestamptz AS oldest FROM events WHERE fanned_at IS NULL;

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
-- Deletes the oldest events that no delivery refers to or will refer to, max_rows at most. OFFSET 0 prevents the planner from turning
-- the search for a delivery into a join with all of them.
DELETE FROM events WHERE id = ANY (ARRAY(
    SELECT e.id FROM events e WHERE e.occurred_at < @before AND e.fanned_at IS NOT NULL
    AND e.tenant_id <> ALL (ARRAY(SELECT held_tenants()))
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id OFFSET 0)
    ORDER BY e.occurred_at LIMIT @max_rows));

-- name: DeleteEventSubjects :exec
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM event_subjects WHERE (tenant_id, subject) IN (SELECT unnest(@tenant_ids::text[]), unnest(@subjects::text[]));
