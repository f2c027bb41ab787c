-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- The processor's status of the customer's running subscription for overage, with our names; NULL without one.
ALTER TABLE billing_customers ADD COLUMN overage_status text;

-- Whether the invoice is for usage above the included one.
ALTER TABLE invoices ADD COLUMN overage boolean NOT NULL DEFAULT false;

-- How much a tenant may be charged for overage in a period. No row or NULL is no cap.
CREATE TABLE spend_caps (
    tenant_id  text PRIMARY KEY REFERENCES tenants (id),
    cap_cents  bigint CHECK (cap_cents >= 0),
    -- The number of changes since a time, for the limit of changes in an hour.
    changes    integer NOT NULL,
    since      timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

-- Periods of subscriptions whose plan charges usage above the included one.
CREATE TABLE overage_periods (
    tenant_id       text NOT NULL REFERENCES tenants (id),
    period_start    timestamptz NOT NULL,
    -- Exclusive. It moves forward if the subscription ends or a new period begins before it.
    period_end      timestamptz NOT NULL CHECK (period_end >= period_start),
    subscription_id text NOT NULL REFERENCES subscriptions (id),
    currency        text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- When the usage is added up next; NULL when the period is closed.
    look_at         timestamptz,
    -- The spend cap; after the end of the period, that of its end. NULL for no cap.
    cap_cents       bigint,
    -- The percent of the spend cap that was announced last, and that cap.
    cap_percent     integer NOT NULL DEFAULT 0 CHECK (cap_percent IN (0, 80, 100)),
    announced_cents bigint,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, period_start)
);
CREATE INDEX overage_periods_look_idx ON overage_periods (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX overage_periods_closed_idx ON overage_periods (period_start) WHERE look_at IS NULL;

-- The charged usage of a period, by meter. included, price_cents and units are those of the plan when the period was last running.
CREATE TABLE overage_charges (
    tenant_id    text NOT NULL,
    period_start timestamptz NOT NULL,
    meter        text NOT NULL,
    -- Whether the plan charges this meter; if not any more, cents stay.
    charging     boolean NOT NULL,
    included     bigint NOT NULL,
    price_cents  bigint NOT NULL,
    units        bigint NOT NULL CHECK (units >= 1),
    used         bigint NOT NULL,
    -- The charge of the tenant in cents. It never becomes less.
    cents        bigint NOT NULL CHECK (cents >= 0),
    -- The price of usage that stays uncharged, because no subscription ran meanwhile.
    waived_cents bigint NOT NULL DEFAULT 0 CHECK (waived_cents >= 0),
    PRIMARY KEY (tenant_id, period_start, meter),
    FOREIGN KEY (tenant_id, period_start) REFERENCES overage_periods (tenant_id, period_start)
);

-- Reports of charges to the meters of the processor. An OPEN one is on its way, a COUNTED one is in the processor's sums, a LOST one
-- never arrived, so that another report has its cents.
CREATE TABLE overage_reports (
    id           text PRIMARY KEY,
    tenant_id    text NOT NULL,
    period_start timestamptz NOT NULL,
    meter        text NOT NULL,
    cents        bigint NOT NULL CHECK (cents > 0),
    -- The usage's time at the processor. No two reports of a meter are in the same minute, so that the sum of a minute tells whether a
    -- report has arrived.
    at           timestamptz NOT NULL,
    status       text NOT NULL CHECK (status IN ('OPEN', 'COUNTED', 'LOST')),
    accepted_at  timestamptz,
    created_at   timestamptz NOT NULL,
    FOREIGN KEY (tenant_id, period_start, meter) REFERENCES overage_charges (tenant_id, period_start, meter)
);
CREATE UNIQUE INDEX overage_reports_open_idx ON overage_reports (tenant_id, meter) WHERE status = 'OPEN';
CREATE UNIQUE INDEX overage_reports_minute_idx ON overage_reports (tenant_id, meter, date_trunc('minute', at AT TIME ZONE 'UTC'));
CREATE INDEX overage_reports_period_idx ON overage_reports (tenant_id, period_start);
