-- +goose Up

-- Tenants' accounts at the payment processor. tenants.charges_enabled says whether an
-- account may take charges.
CREATE TABLE sellers (
    tenant_id            text PRIMARY KEY REFERENCES tenants (id),
    -- Null between the first request for an account and its creation by the processor.
    processor_account_id text,
    details_submitted    boolean NOT NULL DEFAULT false,
    -- Time of the query that returned this state.
    checked_at           timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
);
CREATE UNIQUE INDEX sellers_account_key ON sellers (processor_account_id);

-- Reports of the processor, by its own event ids.
CREATE TABLE processor_events (
    id           text PRIMARY KEY,
    type         text NOT NULL,
    -- The seller's account; null for the platform's own account.
    account_id   text,
    -- As received; jsonb can't store every JSON text.
    payload      json NOT NULL,
    received_at  timestamptz NOT NULL,
    -- Null until the report was processed.
    processed_at timestamptz
);
CREATE INDEX processor_events_received_idx ON processor_events (received_at);
