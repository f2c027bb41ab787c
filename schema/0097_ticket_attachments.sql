-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or writers would wait behind the locks of the references; Migrate repeats it
-- Files of support requests. The bytes are in the storage of files, under tickets/<id>. A file without a message is deleted 25
-- hours after its upload.
CREATE TABLE ticket_attachments (
    id           text PRIMARY KEY,
    tenant_id    text NOT NULL REFERENCES tenants (id),
    -- Set by an admin's upload, and with the message.
    ticket_id    text REFERENCES tickets (id),
    message_id   text REFERENCES ticket_messages (id),
    author_type  text NOT NULL CHECK (author_type IN ('TENANT', 'ADMIN')),
    author_id    text NOT NULL,
    name         text NOT NULL,
    content_type text NOT NULL,
    size_bytes   bigint NOT NULL CHECK (size_bytes BETWEEN 1 AND 10485760),
    -- When the storage had all bytes.
    stored_at    timestamptz,
    created_at   timestamptz NOT NULL,
    CHECK (message_id IS NULL OR ticket_id IS NOT NULL AND stored_at IS NOT NULL)
);
CREATE INDEX ticket_attachments_tenant_idx ON ticket_attachments (tenant_id, author_type, created_at) INCLUDE (size_bytes);
CREATE INDEX ticket_attachments_ticket_idx ON ticket_attachments (ticket_id);
CREATE INDEX ticket_attachments_message_idx ON ticket_attachments (message_id);
CREATE INDEX ticket_attachments_unused_idx ON ticket_attachments (created_at) WHERE message_id IS NULL;
