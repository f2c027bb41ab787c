-- +goose Up
-- Mails on their way out, written in the transaction of what they tell of.
CREATE TABLE mails (
    id              text PRIMARY KEY,
    -- Null for people who belong to no tenant yet.
    tenant_id       text REFERENCES tenants (id),
    kind            text NOT NULL,
    recipient       text NOT NULL,
    -- Subject and bodies, encrypted with the master key, since they hold codes and
    -- links that count. Null once the mail was sent or given up.
    content         bytea,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'kept', 'failed')),
    tries           integer NOT NULL DEFAULT 0,
    error           text,
    next_attempt_at timestamptz,
    -- When it is of no use any more.
    expires_at      timestamptz NOT NULL,
    created_at      timestamptz NOT NULL,
    done_at         timestamptz
);
CREATE INDEX mails_created_idx ON mails (created_at);
