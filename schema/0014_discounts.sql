-- +goose Up

-- Discount codes. A use is held from the checkout on and counted when the order is
-- paid: the free uses are max_redemptions - redemptions - held.
CREATE TABLE discounts (
    id               text PRIMARY KEY,
    tenant_id        text NOT NULL REFERENCES tenants (id),
    code             text NOT NULL,
    percent_off      integer CHECK (percent_off BETWEEN 1 AND 100),
    amount_off_cents bigint CHECK (amount_off_cents > 0),
    starts_at        timestamptz,
    ends_at          timestamptz,
    max_redemptions  integer CHECK (max_redemptions > 0),
    redemptions      integer NOT NULL DEFAULT 0 CHECK (redemptions >= 0),
    held             integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    max_per_customer integer CHECK (max_per_customer > 0),
    stream_id        text REFERENCES streams (id),
    active           boolean NOT NULL DEFAULT true,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CHECK ((percent_off IS NULL) <> (amount_off_cents IS NULL))
);
CREATE UNIQUE INDEX discounts_code_key ON discounts (tenant_id, lower(code));
CREATE INDEX discounts_tenant_idx ON discounts (tenant_id, id DESC);
