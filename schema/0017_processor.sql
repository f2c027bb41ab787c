-- +goose Up

-- A tenant's account at the payment processor. Whether it may take charges is in
-- tenants.charges_enabled.
CREATE TABLE sellers (
    tenant_id            text PRIMARY KEY REFERENCES tenants (id),
    -- Null from the first request for an account until the processor has made it.
    processor_account_id text,
    details_submitted    boolean NOT NULL DEFAULT false,
    -- When the processor was asked for the state that is here.
    checked_at           timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
);
CREATE UNIQUE INDEX sellers_account_key ON sellers (processor_account_id);

-- What the processor reported, by its own event ids.
CREATE TABLE processor_events (
    id           text PRIMARY KEY,
    type         text NOT NULL,
    -- The seller's account; null for the platform's own.
    account_id   text,
    -- As it came; jsonb couldn't hold every text of JSON.
    payload      json NOT NULL,
    received_at  timestamptz NOT NULL,
    -- Null until it was worked through.
    processed_at timestamptz
);
CREATE INDEX processor_events_received_idx ON processor_events (received_at);
