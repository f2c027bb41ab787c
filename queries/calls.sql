-- name: CreateCall :one
-- The ringing starts at the database's time, in whole milliseconds as the API shows it.
INSERT INTO calls (session_id, tenant_id, kind, from_user_id, from_display_name, to_user_id, ring_expires_at)
VALUES (@session_id, @tenant_id, @kind, @from_user_id, @from_display_name, @to_user_id,
    date_trunc('milliseconds', statement_timestamp()) + make_interval(secs => @ring_sec::double precision))
RETURNING *;

-- name: GetCall :one
-- The caller holds the session's lock; the database's clock is read after the lock was acquired.
SELECT sqlc.embed(calls), clock_timestamp()::timestamptz AS now FROM calls WHERE tenant_id = @tenant_id AND session_id = @session_id;

-- name: ListOverdueCalls :many
-- @sqlc-vet-disable tenant
-- Lists calls of all tenants that rang for too long, the longest overdue first.
SELECT c.tenant_id, c.session_id FROM calls c JOIN sessions s ON s.id = c.session_id
WHERE s.state = 'waiting' AND c.ring_expires_at <= clock_timestamp() ORDER BY c.ring_expires_at, c.session_id LIMIT @max_rows;

-- name: EndCall :one
-- The session is locked. Returns why the call was cancelled (null if it wasn't) and by whom it was ended.
UPDATE calls SET cancelled_as = @cancelled_as, ended_by = @ended_by WHERE tenant_id = @tenant_id AND session_id = @session_id RETURNING *;

-- name: DeleteCallsOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked.
DELETE FROM calls WHERE session_id = ANY (@ids::text[]);

-- name: IsCallRinging :one
-- Without a lock: a push of it may still cross with the answer.
SELECT EXISTS (SELECT 1 FROM calls c JOIN sessions s ON s.id = c.session_id
    WHERE c.tenant_id = @tenant_id AND c.session_id = @session_id AND s.state = 'waiting' AND c.ring_expires_at > clock_timestamp());
