-- +goose Up
-- The tenants' support requests. Mails name the number.
CREATE TABLE tickets (
    id              text PRIMARY KEY,
    number          bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    tenant_id       text NOT NULL REFERENCES tenants (id),
    subject         text NOT NULL,
    status          text NOT NULL DEFAULT 'OPEN' CHECK (status IN ('OPEN', 'PENDING', 'RESOLVED', 'CLOSED')),
    priority        text NOT NULL DEFAULT 'NORMAL' CHECK (priority IN ('LOW', 'NORMAL', 'HIGH', 'URGENT')),
    tags            text[] NOT NULL DEFAULT '{}',
    -- Name and address stay when the user is deleted.
    requester_id    text REFERENCES users (id) ON DELETE SET NULL,
    requester_name  text NOT NULL,
    requester_email text NOT NULL,
    assignee_id     text REFERENCES admins (id) ON DELETE SET NULL,
    -- All messages, and those that the tenant may read.
    message_count   integer NOT NULL DEFAULT 0,
    public_count    integer NOT NULL DEFAULT 0,
    last_message_at timestamptz NOT NULL,
    first_reply_at  timestamptz,
    resolved_at     timestamptz,
    closed_at       timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE INDEX tickets_created_idx ON tickets (created_at, id);
CREATE INDEX tickets_status_idx ON tickets (status, priority, created_at, id);
CREATE INDEX tickets_status_created_idx ON tickets (status, created_at, id);
CREATE INDEX tickets_priority_idx ON tickets (priority, created_at, id);
CREATE INDEX tickets_tenant_idx ON tickets (tenant_id, created_at, id);
CREATE INDEX tickets_tenant_id_idx ON tickets (tenant_id, id);
CREATE INDEX tickets_requester_idx ON tickets (requester_id);
CREATE INDEX tickets_assignee_idx ON tickets (assignee_id);

CREATE TABLE ticket_messages (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL,
    ticket_id   text NOT NULL REFERENCES tickets (id),
    author_type text NOT NULL CHECK (author_type IN ('TENANT', 'ADMIN', 'SYSTEM')),
    author_id   text,
    author_name text NOT NULL,
    body        text NOT NULL,
    -- Only admins see an internal message.
    internal    boolean NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX ticket_messages_ticket_idx ON ticket_messages (ticket_id, id);

-- Kept numbers of tickets by status and priority, for the totals of the admins' list; see 0048.
-- +goose StatementBegin
CREATE FUNCTION count_tickets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) SELECT 'tickets', status || '/' || priority, count(*) FROM changed GROUP BY 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION recount_tickets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'tickets', c.key, sum(c.n) FROM (
        SELECT status || '/' || priority AS key, 1 AS n FROM changed UNION ALL SELECT status || '/' || priority, -1 FROM before
    ) c GROUP BY 2 HAVING sum(c.n) <> 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER tickets_made AFTER INSERT ON tickets REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_tickets();
CREATE TRIGGER tickets_changed AFTER UPDATE ON tickets REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION recount_tickets();
