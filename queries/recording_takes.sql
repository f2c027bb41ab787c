-- name: OpenTake :one
-- The recording is locked. Returns the take's number.
WITH counted AS (
    UPDATE recordings r SET takes = r.takes + 1, updated_at = @now WHERE r.tenant_id = @tenant_id AND r.id = @recording_id
    RETURNING r.id, r.tenant_id, r.takes
)
INSERT INTO recording_takes (recording_id, take, tenant_id, node, key, opened_at, seen_at)
SELECT c.id, c.takes, c.tenant_id, @node, @key, @now, @now FROM counted c RETURNING take;

-- name: CreateClipTake :exec
-- The clip is locked. Its takes have the numbers of its source's.
INSERT INTO recording_takes (recording_id, take, tenant_id, node, opened_at, seen_at, closed_at)
VALUES (@recording_id, @take, @tenant_id, '', @now, @now, @now);

-- name: LockTakeByKey :one
-- @sqlc-vet-disable tenant
-- The recording is locked. The recorder knows only its id.
SELECT * FROM recording_takes WHERE recording_id = @recording_id AND node = @node AND key = @key FOR UPDATE;

-- name: DeleteTakes :exec
-- @sqlc-vet-disable tenant
-- The recording is locked. Deletes all takes with their segments.
WITH segments AS (DELETE FROM recording_segments s WHERE s.recording_id = @recording_id),
    inits AS (DELETE FROM recording_inits i WHERE i.recording_id = @recording_id)
DELETE FROM recording_takes t WHERE t.recording_id = @recording_id;

-- name: LockTake :one
-- @sqlc-vet-disable tenant
-- The recorder knows only the recording's id.
SELECT * FROM recording_takes WHERE recording_id = @recording_id AND take = @take FOR UPDATE;

-- name: TouchTake :exec
-- @sqlc-vet-disable tenant
-- The take is locked.
UPDATE recording_takes SET seen_at = @now WHERE recording_id = @recording_id AND take = @take;

-- name: TouchTakes :many
-- @sqlc-vet-disable tenant
-- A node's heartbeat covers the recordings of all tenants. Returns the takes that are open.
UPDATE recording_takes t SET seen_at = @now
FROM (
    SELECT k.recording_id, k.take FROM recording_takes k
        JOIN (SELECT unnest(@recording_ids::text[]) AS recording_id, unnest(@takes::integer[]) AS take) n
            ON n.recording_id = k.recording_id AND n.take = k.take
    WHERE k.closed_at IS NULL AND k.node = @node::text ORDER BY k.recording_id, k.take FOR UPDATE OF k
) open
WHERE t.recording_id = open.recording_id AND t.take = open.take RETURNING t.recording_id, t.take;

-- name: CloseTake :exec
-- @sqlc-vet-disable tenant
-- The recording and the take are locked. The recorder knows only the recording's id.
UPDATE recording_takes SET closed_at = @now::timestamptz, reason = @reason, timed_out = @timed_out
WHERE recording_id = @recording_id AND take = @take;

-- name: ReopenTake :exec
-- @sqlc-vet-disable tenant
-- The recording and the take are locked. The recorder knows only the recording's id.
UPDATE recording_takes SET closed_at = NULL, reason = NULL, timed_out = false, seen_at = @now
WHERE recording_id = @recording_id AND take = @take;

-- name: HasOpenTake :one
-- @sqlc-vet-disable tenant
-- The recording is locked.
SELECT EXISTS (SELECT FROM recording_takes WHERE recording_id = @recording_id AND closed_at IS NULL);

-- name: ListOpenTakes :many
-- @sqlc-vet-disable tenant
-- A node records the streams of all tenants.
SELECT recording_id, take, key FROM recording_takes WHERE node = @node AND closed_at IS NULL ORDER BY opened_at, recording_id, take;

-- name: ListSilentTakes :many
-- @sqlc-vet-disable tenant
-- Takes of all tenants without a recent heartbeat.
SELECT recording_id, take FROM recording_takes WHERE closed_at IS NULL AND seen_at < @before ORDER BY recording_id, take;

-- name: GetTakeReason :one
-- @sqlc-vet-disable tenant
-- Why the first incomplete take is not complete. The recording is locked.
SELECT reason FROM recording_takes WHERE recording_id = @recording_id AND reason IS NOT NULL ORDER BY take LIMIT 1;
