-- +goose Up

-- A PENDING order holds its units and the use of its discount until the processor
-- reports that it was paid or can't be paid any more; our own clock alone never
-- decides that.
CREATE TABLE orders (
    id                    text PRIMARY KEY,
    tenant_id             text NOT NULL REFERENCES tenants (id),
    status                text NOT NULL DEFAULT 'PENDING'
        CHECK (status IN ('PENDING', 'PAID', 'FULFILLED', 'EXPIRED', 'PARTIALLY_REFUNDED', 'REFUNDED')),
    stream_id             text NOT NULL REFERENCES streams (id),
    auction_id            text REFERENCES auctions (id),
    customer_external_id  text NOT NULL,
    customer_email        text,
    subtotal_cents        bigint NOT NULL CHECK (subtotal_cents >= 0),
    discount_cents        bigint NOT NULL CHECK (discount_cents BETWEEN 0 AND subtotal_cents),
    total_cents           bigint NOT NULL CHECK (total_cents = subtotal_cents - discount_cents),
    refunded_cents        bigint NOT NULL DEFAULT 0 CHECK (refunded_cents BETWEEN 0 AND total_cents),
    application_fee_cents bigint NOT NULL CHECK (application_fee_cents BETWEEN 0 AND total_cents),
    currency              text NOT NULL,
    discount_id           text REFERENCES discounts (id),
    discount_code         text,
    success_url           text NOT NULL,
    cancel_url            text NOT NULL,
    -- The seller's account at the processor on which the charge is made; null for an
    -- auction's winner until the payment page is requested.
    processor_account_id  text,
    checkout_session_id   text,
    checkout_url          text,
    payment_intent_id     text,
    -- Time at which the payment page closes.
    expires_at            timestamptz NOT NULL,
    -- Time of the next query to the processor; null when there is nothing left to
    -- query.
    check_at              timestamptz,
    -- Number of queries without news since the last change; the pauses between queries
    -- grow with it.
    checks                integer NOT NULL DEFAULT 0,
    paid_at               timestamptz,
    fulfilled_at          timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX orders_tenant_idx ON orders (tenant_id, id DESC);
CREATE INDEX orders_status_idx ON orders (tenant_id, status, id DESC);
CREATE INDEX orders_stream_idx ON orders (tenant_id, stream_id, id DESC);
CREATE INDEX orders_customer_idx ON orders (tenant_id, customer_external_id, id DESC);
CREATE INDEX orders_paid_idx ON orders (tenant_id, paid_at) WHERE paid_at IS NOT NULL;
CREATE INDEX orders_discount_idx ON orders (discount_id, customer_external_id) WHERE discount_id IS NOT NULL;
CREATE INDEX orders_check_idx ON orders (check_at) WHERE check_at IS NOT NULL;
CREATE UNIQUE INDEX orders_session_key ON orders (checkout_session_id);
CREATE INDEX orders_payment_idx ON orders (payment_intent_id) WHERE payment_intent_id IS NOT NULL;
-- One order for an auction's winner, even if the auction is settled twice.
CREATE UNIQUE INDEX orders_auction_key ON orders (auction_id) WHERE auction_id IS NOT NULL;

-- The lines of the cart, with names and prices at the time of the order.
CREATE TABLE order_items (
    order_id    text NOT NULL REFERENCES orders (id),
    position    integer NOT NULL,
    -- Tenant of the order.
    tenant_id   text NOT NULL,
    product_id  text NOT NULL REFERENCES products (id),
    name        text NOT NULL,
    price_cents bigint NOT NULL CHECK (price_cents >= 0),
    quantity    integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (order_id, position)
);

-- Refunds. PENDING refunds reduce the amount that can still be refunded.
CREATE TABLE refunds (
    id                  text PRIMARY KEY,
    tenant_id           text NOT NULL REFERENCES tenants (id),
    order_id            text NOT NULL REFERENCES orders (id),
    amount_cents        bigint NOT NULL CHECK (amount_cents > 0),
    status              text NOT NULL CHECK (status IN ('PENDING', 'SUCCEEDED', 'FAILED')),
    reason              text,
    -- Null until the processor has created it.
    processor_refund_id text,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL
);
CREATE INDEX refunds_order_idx ON refunds (order_id);
CREATE UNIQUE INDEX refunds_processor_key ON refunds (processor_refund_id);
