-- +goose Up

-- REVIEW: paid with another amount or currency than requested; it holds no units, and the seller decides.
ALTER TABLE orders DROP CONSTRAINT orders_status_check;
ALTER TABLE orders ADD CONSTRAINT orders_status_check
    CHECK (status IN ('PENDING', 'REVIEW', 'PAID', 'FULFILLED', 'EXPIRED', 'PARTIALLY_REFUNDED', 'REFUNDED'));

ALTER TABLE orders
    -- Time at which check_at was written. If it is after the current time, the clock was
    -- set back since then, and the check is due now.
    ADD COLUMN check_set_at     timestamptz,
    -- Position of the search for the order's payment page: the search continues after this
    -- page. Both null while no search is running.
    ADD COLUMN search_after     text,
    ADD COLUMN search_began_at  timestamptz,
    -- The paid amount if it differs from the total: in the smallest unit of paid_currency,
    -- which is in upper case. Null otherwise.
    ADD COLUMN paid_cents       bigint CHECK (paid_cents >= 0),
    ADD COLUMN paid_currency    text,
    -- Number of queries to the processor about refunds and disputes, and the number of the
    -- last query whose answer is stored: answers to earlier queries are out of date.
    ADD COLUMN payment_asked    bigint NOT NULL DEFAULT 0,
    ADD COLUMN payment_answered bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT orders_paid_check CHECK ((paid_cents IS NULL) = (paid_currency IS NULL));
-- Refunds are in the currency of the payment.
ALTER TABLE orders DROP CONSTRAINT orders_check2;
ALTER TABLE orders ADD CONSTRAINT orders_refunded_check CHECK (refunded_cents BETWEEN 0 AND coalesce(paid_cents, total_cents));

ALTER TABLE refunds
    -- api: requested by the tenant; processor: created at the processor, without the API.
    ADD COLUMN source          text NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'processor')),
    -- The Idempotency-Key of the request; null without one.
    ADD COLUMN idempotency_key text,
    -- Reason of a FAILED refund, as a code of the processor.
    ADD COLUMN failure_reason  text;
-- Refunds of the API are stored before the processor has created them.
UPDATE refunds SET source = 'processor' WHERE processor_refund_id IS NOT NULL AND created_at = updated_at;

-- Disputes: a buyer's bank demands a payment back. Values are the processor's, in upper case.
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
    -- Time at which the server learned that the dispute is closed.
    closed_at            timestamptz,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL
);
CREATE INDEX disputes_order_idx ON disputes (order_id);
CREATE UNIQUE INDEX disputes_processor_key ON disputes (processor_dispute_id);

ALTER TABLE sellers
    -- Time and number of the last query for the account's state; answered is the number of
    -- the last query whose answer is stored.
    ADD COLUMN asked_at timestamptz,
    ADD COLUMN asked    bigint NOT NULL DEFAULT 0,
    ADD COLUMN answered bigint NOT NULL DEFAULT 0;
