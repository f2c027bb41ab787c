-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- A tenant on FREE is a customer like others, not in a trial.
ALTER TABLE tenants ALTER COLUMN status SET DEFAULT 'ACTIVE';
UPDATE tenants SET status = 'ACTIVE' WHERE status = 'TRIAL';
UPDATE tenants SET status_before_suspension = 'ACTIVE' WHERE status_before_suspension = 'TRIAL';

-- Tenants as customers of the payment processor. A row exists from a tenant's first trial or checkout.
CREATE TABLE billing_customers (
    tenant_id             text PRIMARY KEY REFERENCES tenants (id),
    -- NULL until the processor has created it.
    processor_customer_id text UNIQUE,
    -- The plan that subscriptions gave to the tenant last; NULL if none did. tenants.plan changes when this one does, so
    -- that a plan which an admin has set stays until the subscription's next change.
    granted_plan          text REFERENCES plans (tier),
    -- Readings of the processor's state have numbers. Only a reading that began after the applied one is applied.
    reads_begun           bigint NOT NULL DEFAULT 0,
    read_applied          bigint NOT NULL DEFAULT 0,
    -- When the applied reading began.
    read_at               timestamptz,
    -- The newest checkout page, which may still be open.
    checkout_id           text,
    -- The time until which a person may come back from a hosted page; NULL for never.
    away_until            timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
);
-- For the hourly look at the processor.
CREATE INDEX billing_customers_read_idx ON billing_customers (read_at NULLS FIRST) WHERE processor_customer_id IS NOT NULL;

-- Subscriptions to plans. A trial without payment details has no counterpart at the processor; all others are copies of it.
CREATE TABLE subscriptions (
    id                        text PRIMARY KEY,
    tenant_id                 text NOT NULL REFERENCES tenants (id),
    processor_subscription_id text UNIQUE,
    plan                      text NOT NULL REFERENCES plans (tier),
    status                    text NOT NULL CHECK (status IN ('TRIALING', 'ACTIVE', 'PAST_DUE', 'PAUSED', 'CANCELED', 'INCOMPLETE', 'UNPAID')),
    billing_interval          text NOT NULL CHECK (billing_interval IN ('MONTH', 'YEAR')),
    price_cents               bigint NOT NULL CHECK (price_cents >= 0),
    currency                  text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    collection                text NOT NULL CHECK (collection IN ('CHARGE', 'INVOICE')),
    trial_ends_at             timestamptz,
    period_start              timestamptz NOT NULL,
    period_end                timestamptz NOT NULL,
    cancel_at_period_end      boolean NOT NULL,
    canceled_at               timestamptz,
    paused_at                 timestamptz,
    -- When it became UNPAID, by our clock.
    unpaid_at                 timestamptz,
    -- A change that takes effect at pending_at.
    pending_plan              text,
    pending_interval          text,
    pending_at                timestamptz,
    -- Where a person completes an open payment.
    payment_url               text,
    -- Whether the mail about the trial's end was sent.
    trial_reminded            boolean NOT NULL DEFAULT false,
    -- Its part of the monthly recurring revenue, in cents: revenue_entries has each change.
    monthly_cents             bigint NOT NULL DEFAULT 0 CHECK (monthly_cents >= 0),
    -- created_at is when it was booked, at the processor if it knows the subscription.
    created_at                timestamptz NOT NULL,
    updated_at                timestamptz NOT NULL,
    CHECK ((pending_plan IS NULL) = (pending_at IS NULL) AND (pending_interval IS NULL) = (pending_at IS NULL))
);
CREATE INDEX subscriptions_tenant_idx ON subscriptions (tenant_id, created_at DESC);
CREATE INDEX subscriptions_created_idx ON subscriptions (created_at DESC, id DESC);
CREATE INDEX subscriptions_status_idx ON subscriptions (status, created_at DESC, id DESC);
-- For trials and grace periods that end.
CREATE INDEX subscriptions_trial_idx ON subscriptions (trial_ends_at) WHERE status = 'TRIALING';
CREATE INDEX subscriptions_unpaid_idx ON subscriptions (unpaid_at) WHERE status = 'UNPAID';

-- Copies of the processor's invoices.
CREATE TABLE invoices (
    id                     text PRIMARY KEY,
    tenant_id              text NOT NULL REFERENCES tenants (id),
    processor_invoice_id   text NOT NULL UNIQUE,
    subscription_id        text REFERENCES subscriptions (id),
    number                 text,
    status                 text NOT NULL CHECK (status IN ('DRAFT', 'OPEN', 'PAID', 'UNCOLLECTIBLE', 'VOID')),
    currency               text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    subtotal_cents         bigint NOT NULL,
    tax_cents              bigint NOT NULL,
    total_cents            bigint NOT NULL,
    paid_cents             bigint NOT NULL,
    due_cents              bigint NOT NULL,
    refunded_cents         bigint NOT NULL,
    -- Failed attempts to collect the payment.
    failed_attempts        integer NOT NULL,
    period_start           timestamptz NOT NULL,
    period_end             timestamptz NOT NULL,
    due_at                 timestamptz,
    paid_at                timestamptz,
    voided_at              timestamptz,
    hosted_url             text,
    pdf_url                text,
    -- InvoiceLine of the API, at most 100.
    lines                  jsonb NOT NULL,
    created_at             timestamptz NOT NULL,
    updated_at             timestamptz NOT NULL
);
CREATE INDEX invoices_tenant_idx ON invoices (tenant_id, created_at DESC, id DESC);
CREATE INDEX invoices_created_idx ON invoices (created_at DESC, id DESC);
CREATE INDEX invoices_status_idx ON invoices (status, created_at DESC, id DESC);

-- Append-only ledger of the platform's own revenue. Its rows are written in the transaction that copies the change, so sums by
-- month need no other table.
CREATE TABLE revenue_entries (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id       text NOT NULL,
    subscription_id text,
    invoice_id      text,
    -- Of the monthly recurring revenue: NEW (a tenant's first), REACTIVATION (after a churn), EXPANSION, CONTRACTION, CHURN.
    -- Of money: PAYMENT, REFUND, and FAILURE for an attempt to collect a payment that failed.
    kind            text NOT NULL CHECK (kind IN ('NEW', 'REACTIVATION', 'EXPANSION', 'CONTRACTION', 'CHURN', 'PAYMENT', 'REFUND', 'FAILURE')),
    plan            text,
    currency        text NOT NULL,
    -- Changes of the recurring revenue have a sign; amounts of money don't.
    amount_cents    bigint NOT NULL,
    at              timestamptz NOT NULL
);
CREATE INDEX revenue_entries_at_idx ON revenue_entries (at) INCLUDE (kind, currency, amount_cents);
CREATE INDEX revenue_entries_tenant_idx ON revenue_entries (tenant_id, id);

-- Ids of objects of the platform's own account at the processor, such as products of plans and settings of the portal.
CREATE TABLE processor_objects (
    name         text PRIMARY KEY,
    processor_id text NOT NULL,
    created_at   timestamptz NOT NULL
);
