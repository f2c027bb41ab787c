-- name: TakeIdempotencyKey :one
-- Takes a key that is new, a day old, or whose run died before it changed anything. No row: another request has it.
-- The commit doesn't wait for the disk: the run's next commit does, and it also writes everything before it to the disk.
INSERT INTO idempotency_keys AS k (tenant_id, key, fingerprint, run_id, created_at, lease_until)
SELECT @tenant_id::text, @key::text, @fingerprint::bytea, @run_id::text, @now::timestamptz, @lease_until::timestamptz
FROM set_config('synchronous_commit', 'off', true)
ON CONFLICT (tenant_id, key) DO UPDATE SET fingerprint = excluded.fingerprint, run_id = excluded.run_id,
    created_at = excluded.created_at, lease_until = excluded.lease_until,
    committed_at = NULL, status = NULL, content_type = NULL, body = NULL
WHERE k.created_at <= @forgotten
    OR k.fingerprint = excluded.fingerprint AND k.committed_at IS NULL AND k.status IS NULL AND k.lease_until <= excluded.created_at
RETURNING run_id;

-- name: GetIdempotencyKey :one
SELECT * FROM idempotency_keys WHERE tenant_id = @tenant_id AND key = @key;

-- name: CommitIdempotencyKey :execrows
UPDATE idempotency_keys SET committed_at = @now WHERE tenant_id = @tenant_id AND key = @key AND run_id = @run_id;

-- name: RenewIdempotencyKey :exec
UPDATE idempotency_keys SET lease_until = @lease_until
WHERE tenant_id = @tenant_id AND key = @key AND run_id = @run_id AND status IS NULL;

-- name: AnswerIdempotencyKey :exec
UPDATE idempotency_keys SET status = @status, content_type = @content_type, body = @body
WHERE tenant_id = @tenant_id AND key = @key AND run_id = @run_id;

-- name: ReleaseIdempotencyKey :execrows
DELETE FROM idempotency_keys WHERE tenant_id = @tenant_id AND key = @key AND run_id = @run_id AND committed_at IS NULL;

-- name: DeleteIdempotencyKeysBefore :execrows
-- @sqlc-vet-disable tenant
-- Deletes the oldest keys, max_rows at most: one statement must not take long.
DELETE FROM idempotency_keys WHERE (tenant_id, key) IN (
    SELECT o.tenant_id, o.key FROM idempotency_keys o WHERE o.created_at < @before ORDER BY o.created_at LIMIT @max_rows);

-- name: ListIdempotencyKeysToReseal :many
-- @sqlc-vet-disable tenant
-- The master key is the same for all tenants. Lists answers that another master key encrypted.
SELECT * FROM idempotency_keys
WHERE (tenant_id, key) > (@after_tenant::text, @after_key::text)
  AND substring(body FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
ORDER BY tenant_id, key LIMIT @max_rows;

-- name: ResealIdempotencyKey :exec
-- Does nothing if another run has taken the key meanwhile.
UPDATE idempotency_keys SET body = @sealed
WHERE tenant_id = @tenant_id AND key = @key AND run_id = @run_id AND body = @before::bytea;
