-- name: LockTickets :exec
-- @sqlc-vet-disable tenant
-- A lock of the tenant, without a table. Serialises a tenant's new tickets, so that their limits are exact.
SELECT pg_advisory_xact_lock(21, hashtext(@tenant_id::text));

-- name: CountUnfinishedTickets :one
-- The tenant's tickets that wait for an answer, and those that are newer than a time.
SELECT (SELECT count(*) FROM tickets o WHERE o.tenant_id = @tenant_id AND o.status IN ('OPEN', 'PENDING')) AS unfinished,
    (SELECT count(*) FROM tickets n WHERE n.tenant_id = @tenant_id AND n.created_at > @since::timestamptz) AS recent;

-- name: CreateTicket :one
INSERT INTO tickets (id, tenant_id, subject, priority, requester_id, requester_name, requester_email, last_message_at, created_at, updated_at)
VALUES (@id, @tenant_id, @subject, @priority, @requester_id, @requester_name, @requester_email, @now, @now, @now) RETURNING *;

-- name: CreateTicketMessage :one
INSERT INTO ticket_messages (id, tenant_id, ticket_id, author_type, author_id, author_name, body, internal, created_at)
VALUES (@id, @tenant_id, @ticket_id, @author_type, @author_id, @author_name, @body, @internal, @now) RETURNING *;

-- name: SaveTicket :one
UPDATE tickets SET status = @status, priority = @priority, tags = @tags, assignee_id = @assignee_id, message_count = @message_count,
    public_count = @public_count, last_message_at = @last_message_at, first_reply_at = @first_reply_at, resolved_at = @resolved_at,
    closed_at = @closed_at, updated_at = @updated_at
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: GetTicket :one
SELECT * FROM tickets WHERE tenant_id = @tenant_id AND id = @id;

-- name: LockTicket :one
SELECT * FROM tickets WHERE tenant_id = @tenant_id AND id = @id FOR NO KEY UPDATE;

-- name: ListTickets :many
SELECT * FROM tickets
WHERE tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: LockAdminTicket :one
-- @sqlc-vet-disable tenant
-- For the platform's admins.
SELECT * FROM tickets WHERE id = @id FOR NO KEY UPDATE;

-- name: GetAdminTicket :one
-- @sqlc-vet-disable tenant
-- For the platform's admins.
SELECT sqlc.embed(k), t.name AS tenant_name FROM tickets k JOIN tenants t ON t.id = k.tenant_id WHERE k.id = @id;

-- name: CountAdminTickets :one
-- @sqlc-vet-disable tenant
-- For the platform's admins. The key is the status and the priority.
SELECT coalesce(sum(c.n), 0)::bigint FROM row_numbers c
WHERE c.scope = 'tickets' AND (sqlc.narg('status')::text IS NULL OR split_part(c.key, '/', 1) = sqlc.narg('status'))
  AND (sqlc.narg('priority')::text IS NULL OR split_part(c.key, '/', 2) = sqlc.narg('priority'));

-- name: CountTicketsOfTenant :one
SELECT count(*) FROM tickets k
WHERE k.tenant_id = @tenant_id AND (sqlc.narg('status')::text IS NULL OR k.status = sqlc.narg('status'))
  AND (sqlc.narg('priority')::text IS NULL OR k.priority = sqlc.narg('priority'));

-- name: ListAdminTickets :many
-- @sqlc-vet-disable tenant
-- For the platform's admins. Finds the page along an index before it reads rows.
WITH page AS MATERIALIZED (
    SELECT f.id FROM tickets f
    WHERE (sqlc.narg('status')::text IS NULL OR f.status = sqlc.narg('status'))
      AND (sqlc.narg('priority')::text IS NULL OR f.priority = sqlc.narg('priority'))
      AND (sqlc.narg('tenant_id')::text IS NULL OR f.tenant_id = sqlc.narg('tenant_id'))
    ORDER BY f.created_at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(k), t.name AS tenant_name FROM page JOIN tickets k ON k.id = page.id JOIN tenants t ON t.id = k.tenant_id
ORDER BY k.created_at DESC, k.id DESC;

-- name: ListTicketMessages :many
-- The last messages, newest first; with or without those that only admins may read.
SELECT * FROM ticket_messages
WHERE tenant_id = @tenant_id AND ticket_id = @ticket_id AND (@internal::boolean OR NOT internal)
ORDER BY id DESC LIMIT @max_rows;

-- name: SumTicketAttachments :one
-- The files of an author type of a tenant: all bytes, and the number and bytes of those that are newer than a time. Files whose upload
-- failed are counted only while they may still arrive.
SELECT coalesce(sum(size_bytes), 0)::bigint AS bytes,
    count(*) FILTER (WHERE created_at > @since::timestamptz) AS recent,
    coalesce(sum(size_bytes) FILTER (WHERE created_at > @since::timestamptz), 0)::bigint AS recent_bytes
FROM ticket_attachments WHERE tenant_id = @tenant_id AND author_type = @author_type
  AND (stored_at IS NOT NULL OR created_at > @arriving_since::timestamptz);

-- name: CreateTicketAttachment :one
INSERT INTO ticket_attachments (id, tenant_id, ticket_id, author_type, author_id, name, content_type, size_bytes, created_at)
VALUES (@id, @tenant_id, @ticket_id, @author_type, @author_id, @name, @content_type, @size_bytes, @now) RETURNING *;

-- name: SetTicketAttachmentStored :execrows
UPDATE ticket_attachments SET stored_at = @now::timestamptz WHERE tenant_id = @tenant_id AND id = @id AND stored_at IS NULL;

-- name: AttachToTicketMessage :many
-- Attaches files of the author that no message has, if they were uploaded after a time.
UPDATE ticket_attachments SET ticket_id = @ticket_id::text, message_id = @message_id::text
WHERE tenant_id = @tenant_id AND id = ANY(@ids::text[]) AND author_type = @author_type AND author_id = @author_id
  AND message_id IS NULL AND stored_at IS NOT NULL AND created_at > @since::timestamptz
  AND (ticket_id IS NULL OR ticket_id = @ticket_id::text)
RETURNING *;

-- name: ListTicketAttachments :many
-- The files of messages.
SELECT * FROM ticket_attachments WHERE tenant_id = @tenant_id AND message_id = ANY(@message_ids::text[]) ORDER BY id;

-- name: GetTicketAttachment :one
-- A file of a message; with or without those that only admins may read.
SELECT a.* FROM ticket_attachments a JOIN ticket_messages m ON m.id = a.message_id
WHERE a.tenant_id = @tenant_id AND a.ticket_id = @ticket_id AND a.id = @id AND (@internal::boolean OR NOT m.internal);

-- name: LockUnusedTicketAttachments :many
-- @sqlc-vet-disable tenant
-- For retention. Files that no message has: those that never arrived, and those of tenants without a legal hold.
SELECT a.* FROM ticket_attachments a
WHERE a.message_id IS NULL AND a.created_at < @before::timestamptz
  AND (a.stored_at IS NULL OR a.tenant_id <> ALL (ARRAY(SELECT held_tenants())))
ORDER BY a.created_at LIMIT @max_rows FOR UPDATE OF a SKIP LOCKED;

-- name: DeleteTicketAttachments :execrows
-- @sqlc-vet-disable tenant
-- For retention.
DELETE FROM ticket_attachments WHERE id = ANY(@ids::text[]);
