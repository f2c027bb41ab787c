-- name: CreateEventFanouts :exec
-- One element per event in each array; each of endpoint_ids is a comma-separated list of ids.
INSERT INTO event_fanouts (event_id, tenant_id, subject, sequence, endpoint_ids, created_at)
SELECT unnest(@event_ids::text[]), @tenant_id, unnest(@subjects::text[]), unnest(@sequences::bigint[]),
    string_to_array(unnest(@endpoint_ids::text[]), ','), @now::timestamptz;

-- name: ListEventFanouts :many
-- The first events of some subjects, without gaps.
SELECT event_id, subject, cardinality(endpoint_ids)::integer AS deliveries FROM event_fanouts
WHERE tenant_id = @tenant_id ORDER BY subject, sequence LIMIT @max_rows;

-- name: LockEventSubjects :many
-- Locks these subjects, so no other transaction can write events of them. The order of the array is that of CountEvents.
SELECT s.subject FROM unnest(@subjects::text[]) WITH ORDINALITY AS w (subject, n)
JOIN event_subjects s ON s.tenant_id = @tenant_id AND s.subject = w.subject
ORDER BY w.n FOR UPDATE OF s;

-- name: TakeEventFanouts :many
-- The subjects are locked. Leaves out what another job has taken meanwhile.
WITH taken AS (
    DELETE FROM event_fanouts f WHERE f.tenant_id = @tenant_id AND f.event_id = ANY (@event_ids::text[])
    RETURNING f.event_id, f.subject, f.sequence, f.endpoint_ids
)
SELECT event_id, subject, sequence, endpoint_ids FROM taken ORDER BY subject, sequence;

-- name: ListOverdueFanouts :many
-- @sqlc-vet-disable tenant
-- Tenants with events whose deliveries are overdue.
SELECT DISTINCT tenant_id FROM event_fanouts WHERE created_at < @before::timestamptz;
