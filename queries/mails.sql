-- name: CreateMail :exec
INSERT INTO mails (id, tenant_id, kind, recipient, content, expires_at, created_at)
VALUES (@id, @tenant_id, @kind, @recipient, @content, @expires_at, @now);

-- name: CountRecentMailsTo :one
-- Counts mails of these kinds to an address: from all tenants, and from one.
SELECT count(*) AS of_all, coalesce(min(m.created_at), @since::timestamptz)::timestamptz AS oldest,
    count(*) FILTER (WHERE m.tenant_id = @tenant_id::text) AS of_tenant,
    coalesce(min(m.created_at) FILTER (WHERE m.tenant_id = @tenant_id::text), @since::timestamptz)::timestamptz AS oldest_of_tenant
FROM mails m
WHERE m.kind = ANY (@kinds::text[]) AND m.created_at > @since::timestamptz AND m.recipient = @recipient;

-- name: CountRecentMailsOf :one
-- Counts mails of these kinds that a tenant has sent.
SELECT count(*) AS count, coalesce(min(m.created_at), @since::timestamptz)::timestamptz AS oldest
FROM mails m
WHERE m.kind = ANY (@kinds::text[]) AND m.created_at > @since::timestamptz AND m.tenant_id = @tenant_id::text;

-- name: GetMail :one
-- @sqlc-vet-disable tenant
-- For the worker; the id is from its job.
SELECT * FROM mails WHERE id = @id;

-- name: RecordMailAttempt :exec
-- @sqlc-vet-disable tenant
-- As GetMail. Doesn't change a mail that another worker has finished meanwhile.
UPDATE mails SET tries = tries + 1, error = @error, next_attempt_at = @next_attempt_at
WHERE id = @id AND status = 'pending';

-- name: FinishMail :exec
-- @sqlc-vet-disable tenant
-- As GetMail.
UPDATE mails SET status = @status, tries = tries + 1, error = @error, content = NULL, next_attempt_at = NULL, done_at = @now
WHERE id = @id AND status = 'pending';

-- name: KeepMail :execrows
-- @sqlc-vet-disable tenant
-- As GetMail; the development mailbox shows it.
UPDATE mails SET status = 'kept', done_at = @now WHERE id = @id AND status = 'pending';

-- name: ListUnsentMails :many
-- @sqlc-vet-disable tenant
-- The development mailbox shows mails of all tenants.
SELECT * FROM mails WHERE content IS NOT NULL ORDER BY id DESC LIMIT @max_rows;

-- name: GetUnsentMail :one
-- @sqlc-vet-disable tenant
-- As ListUnsentMails.
SELECT * FROM mails WHERE id = @id AND content IS NOT NULL;

-- name: DeleteMailsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes the oldest mails, max_rows at most.
DELETE FROM mails WHERE id = ANY (ARRAY(SELECT m.id FROM mails m WHERE m.created_at < @before
    AND coalesce(m.tenant_id, '') <> ALL (ARRAY(SELECT held_tenants())) ORDER BY m.created_at LIMIT @max_rows));

-- name: ListMailsToReseal :many
-- @sqlc-vet-disable tenant
-- The master key is the same for all tenants. Lists mails that another master key encrypted.
SELECT * FROM mails
WHERE id > @after AND substring(content FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
ORDER BY id LIMIT @max_rows;

-- name: ResealMail :exec
-- @sqlc-vet-disable tenant
-- As ListMailsToReseal. Does nothing if the mail was sent meanwhile.
UPDATE mails SET content = @sealed WHERE id = @id AND content = @before::bytea;
