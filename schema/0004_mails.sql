-- +goose Up
-- Outgoing mails, written in the transaction of the change that they are about.
CREATE TABLE mails (
    id              text PRIMARY KEY,
    -- Null for recipients who belong to no tenant yet.
    tenant_id       text REFERENCES tenants (id),
    kind            text NOT NULL,
    recipient       text NOT NULL,
    -- Subject and bodies, encrypted with the master key, because they hold valid codes
    -- and links. Null once the mail was sent or has failed permanently.
    content         bytea,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'kept', 'failed')),
    tries           integer NOT NULL DEFAULT 0,
    error           text,
    next_attempt_at timestamptz,
    -- After this time the mail is not sent any more.
    expires_at      timestamptz NOT NULL,
    created_at      timestamptz NOT NULL,
    done_at         timestamptz
);
CREATE INDEX mails_created_idx ON mails (created_at);
