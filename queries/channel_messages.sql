-- name: CreateMessages :exec
-- Inserts the messages in order and updates their channel, whose row is locked. The arrays contain no NULL; ''
-- stands for it. Mentions and attachments are JSON.
WITH written AS (
    INSERT INTO channel_messages (id, channel_id, tenant_id, author_id, author_name, body, parent_id, mentions, attachments, created_at)
    SELECT n.id, @channel_id, @tenant_id, n.author_id, n.author_name, n.body, nullif(n.parent_id, ''),
        ARRAY(SELECT jsonb_array_elements_text(n.mentions::jsonb)), nullif(n.attachments, '')::jsonb, n.created_at
    FROM (SELECT unnest(@ids::text[]) AS id, unnest(@author_ids::text[]) AS author_id, unnest(@author_names::text[]) AS author_name,
        unnest(@bodies::text[]) AS body, unnest(@parent_ids::text[]) AS parent_id, unnest(@mentions::text[]) AS mentions,
        unnest(@attachments::text[]) AS attachments, unnest(@created_ats::timestamptz[]) AS created_at) n
)
UPDATE channels SET last_message_id = @last_message_id::text, last_message_at = @last_message_at::timestamptz
WHERE channels.tenant_id = @tenant_id AND channels.id = @channel_id;

-- name: GetMessage :one
SELECT * FROM channel_messages WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id = @id;

-- name: FindMessages :many
-- Returns those of the ids that are messages of the channel.
SELECT id FROM channel_messages WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id = ANY (@ids::text[]);

-- name: ListMessagesAfter :many
-- Oldest first. In a channel, ids follow the order of the commits.
SELECT * FROM channel_messages
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id > @after AND id < @before ORDER BY id LIMIT @max_rows;

-- name: ListMessagesBefore :many
-- Newest first.
SELECT * FROM channel_messages
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id < @before ORDER BY id DESC LIMIT @max_rows;

-- name: ListKeptMessages :many
-- The messages that were not deleted, oldest first.
SELECT * FROM channel_messages
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id > @after AND id < @before AND redacted_at IS NULL ORDER BY id LIMIT @max_rows;

-- name: LastMessageUntil :one
-- The last message written up to the given time; times rise with the ids.
SELECT id FROM channel_messages WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND created_at <= @until
ORDER BY created_at DESC, id DESC LIMIT 1;

-- name: FirstMessageFrom :one
SELECT id FROM channel_messages WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND created_at >= @since
ORDER BY created_at, id LIMIT 1;

-- name: EditMessage :one
UPDATE channel_messages SET body = @body::text, mentions = @mentions, edited_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id = @id RETURNING *;

-- name: RedactMessage :one
UPDATE channel_messages SET body = NULL, attachments = NULL, mentions = '{}', redacted_at = @now::timestamptz, redacted_by = @by::text
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND id = @id RETURNING *;

-- name: CreatePin :exec
INSERT INTO product_pins (id, tenant_id, room_id, product_id, pinned_by, pinned_at)
VALUES (@id, @tenant_id, @room_id, @product_id, @pinned_by, @now);

-- name: LastPin :one
SELECT * FROM product_pins WHERE tenant_id = @tenant_id AND room_id = @room_id ORDER BY pinned_at DESC, id DESC LIMIT 1;

-- name: ListPins :many
-- The pins of a time range, oldest first, 1000 at most.
SELECT * FROM product_pins
WHERE tenant_id = @tenant_id AND room_id = @room_id AND pinned_at >= @since AND pinned_at < @until ORDER BY pinned_at, id LIMIT 1000;

-- name: DeleteStreamPinsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. The pins of sessions are deleted with their session.
DELETE FROM product_pins WHERE id = ANY (ARRAY(
    SELECT p.id FROM product_pins p WHERE starts_with(p.room_id, 'str_') AND p.pinned_at < @before
        AND p.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY p.pinned_at LIMIT @max_rows));

-- name: DeleteMessagesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes the oldest messages, max_rows at most. Ids follow the time, so the primary key finds them.
DELETE FROM channel_messages WHERE id = ANY (ARRAY(
    SELECT m.id FROM channel_messages m WHERE m.id < @before_id AND m.created_at < @before
        AND m.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY m.id LIMIT @max_rows));

-- name: DeleteMessagesOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_messages WHERE id = ANY (ARRAY(
    SELECT m.id FROM channel_messages m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows));
