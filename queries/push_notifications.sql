-- name: CreatePushNotification :exec
INSERT INTO push_notifications (id, tenant_id, project_id, title, body, data, users, attempted, created_at, expires_at)
VALUES (@id, @tenant_id, @project_id, @title, @body, @data, @users, @attempted, @now, @expires_at);

-- name: CreatePushBatch :one
INSERT INTO push_batches (tenant_id, notification_id, waiting, next_at) VALUES (@tenant_id, @notification_id, @waiting, @now::timestamptz) RETURNING id;

-- name: CountWaitingPushBatches :one
SELECT count(*) FROM push_batches WHERE tenant_id = @tenant_id AND next_at IS NOT NULL;

-- name: ListPushNotifications :many
SELECT sqlc.embed(n), coalesce(b.waiting, 0)::bigint AS waiting, coalesce(b.delivered, 0)::bigint AS delivered,
    coalesce(b.stale, 0)::bigint AS stale, coalesce(b.throttled, 0)::bigint AS throttled,
    coalesce(b.credential_faults, 0)::bigint AS credential_faults, coalesce(b.rejected, 0)::bigint AS rejected,
    coalesce(b.unreachable, 0)::bigint AS unreachable, coalesce(b.expired, 0)::bigint AS expired, coalesce(b.last_error, '')::text AS last_error
FROM push_notifications n LEFT JOIN LATERAL (
    SELECT sum(cardinality(waiting)) AS waiting, sum(delivered) AS delivered, sum(stale) AS stale, sum(throttled) AS throttled,
        sum(credential_faults) AS credential_faults, sum(rejected) AS rejected, sum(unreachable) AS unreachable, sum(expired) AS expired,
        max(last_error) AS last_error
    FROM push_batches WHERE notification_id = n.id
) b ON true
WHERE n.tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR n.id < sqlc.narg('cursor')::text)
ORDER BY n.id DESC LIMIT @max_rows;

-- name: CountPushAnswers :one
SELECT coalesce(sum(cardinality(waiting)), 0)::bigint AS waiting, coalesce(sum(delivered), 0)::bigint AS delivered
FROM push_batches WHERE tenant_id = @tenant_id AND notification_id = @notification_id;

-- name: GetPushBatch :one
-- @sqlc-vet-disable tenant
-- A job has only the batch's id.
SELECT sqlc.embed(b), sqlc.embed(n) FROM push_batches b JOIN push_notifications n ON n.id = b.notification_id WHERE b.id = @id;

-- name: NotePushAnswers :one
-- Removes devices with a final answer from those that wait, and adds the answers to the counts. It counts only devices that still wait.
UPDATE push_batches SET
    waiting = ARRAY(SELECT w FROM unnest(waiting) AS w WHERE w <> ALL (@answered::bigint[])),
    next_at = CASE WHEN waiting <@ @answered::bigint[] THEN NULL ELSE next_at END,
    delivered = delivered + @delivered, stale = stale + @stale, throttled = throttled + @throttled,
    credential_faults = credential_faults + @credential_faults, rejected = rejected + @rejected,
    unreachable = unreachable + @unreachable, expired = expired + @expired,
    last_error = coalesce(sqlc.narg('last_error')::text, last_error)
WHERE tenant_id = @tenant_id AND id = @id AND waiting @> @answered::bigint[]
RETURNING cardinality(waiting)::integer AS waiting;

-- name: PostponePushBatch :exec
UPDATE push_batches SET tries = tries + 1, next_at = @next_at::timestamptz, last_error = coalesce(last_error, sqlc.narg('last_error')::text)
WHERE tenant_id = @tenant_id AND id = @id AND next_at IS NOT NULL;

-- name: DeletePushNotificationsBefore :execrows
-- @sqlc-vet-disable tenant
-- The period is the same for all tenants. Batches are deleted with their notification.
DELETE FROM push_notifications n WHERE n.id IN (
    SELECT o.id FROM push_notifications o WHERE o.created_at < @before
        AND o.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY o.created_at LIMIT @max_rows FOR UPDATE SKIP LOCKED);
