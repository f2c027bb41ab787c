-- +goose Up

-- REVIEW: paid, but not what was asked for; it holds nothing, and the seller decides.
ALTER TABLE orders DROP CONSTRAINT orders_status_check;
ALTER TABLE orders ADD CONSTRAINT orders_status_check
    CHECK (status IN ('PENDING', 'REVIEW', 'PAID', 'FULFILLED', 'EXPIRED', 'PARTIALLY_REFUNDED', 'REFUNDED'));

ALTER TABLE orders
    -- When check_at was written. A time that is ahead of the clock was written by a
    -- clock that has gone back since: the check is due then.
    ADD COLUMN check_set_at     timestamptz,
    -- The search for the order's payment page, which goes on behind this page; both
    -- null while none is under way.
    ADD COLUMN search_after     text,
    ADD COLUMN search_began_at  timestamptz,
    -- What was paid when it isn't the total: in the smallest unit of paid_currency,
    -- in upper case. Null otherwise.
    ADD COLUMN paid_cents       bigint CHECK (paid_cents >= 0),
    ADD COLUMN paid_currency    text,
    -- How often the processor was asked about refunds and disputes, and the number of
    -- the last question whose answer is here: an answer to an earlier one is out of date.
    ADD COLUMN payment_asked    bigint NOT NULL DEFAULT 0,
    ADD COLUMN payment_answered bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT orders_paid_check CHECK ((paid_cents IS NULL) = (paid_currency IS NULL));
-- Refunds are in the currency that was paid.
ALTER TABLE orders DROP CONSTRAINT orders_check2;
ALTER TABLE orders ADD CONSTRAINT orders_refunded_check CHECK (refunded_cents BETWEEN 0 AND coalesce(paid_cents, total_cents));

ALTER TABLE refunds
    -- api: asked for by the tenant; processor: made there, behind our back.
    ADD COLUMN source          text NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'processor')),
    -- The Idempotency-Key of the request; null without one.
    ADD COLUMN idempotency_key text,
    -- Why it FAILED, as a code of the processor's.
    ADD COLUMN failure_reason  text;
-- Those of the API are written down before the processor has made them.
UPDATE refunds SET source = 'processor' WHERE processor_refund_id IS NOT NULL AND created_at = updated_at;

-- A buyer's bank wants a payment back. In the processor's words, in upper case.
CREATE TABLE disputes (
    id                   text PRIMARY KEY,
    tenant_id            text NOT NULL REFERENCES tenants (id),
    order_id             text NOT NULL REFERENCES orders (id),
    processor_dispute_id text NOT NULL,
    status               text NOT NULL CHECK (status IN ('WARNING_NEEDS_RESPONSE', 'WARNING_UNDER_REVIEW', 'WARNING_CLOSED',
        'NEEDS_RESPONSE', 'UNDER_REVIEW', 'WON', 'LOST')),
    reason               text NOT NULL,
    amount_cents         bigint NOT NULL CHECK (amount_cents >= 0),
    currency             text NOT NULL,
    evidence_due_at      timestamptz,
    opened_at            timestamptz NOT NULL,
    -- When we learned that it is closed.
    closed_at            timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
);
CREATE INDEX disputes_order_idx ON disputes (order_id);
CREATE UNIQUE INDEX disputes_processor_key ON disputes (processor_dispute_id);

ALTER TABLE sellers
    -- When the processor was last asked for the account's state, and how often it was;
    -- answered is the number of the last question whose answer is here.
    ADD COLUMN asked_at timestamptz,
    ADD COLUMN asked    bigint NOT NULL DEFAULT 0,
    ADD COLUMN answered bigint NOT NULL DEFAULT 0;
