-- +goose NO TRANSACTION
-- +goose Up
-- Each statement can run again after an interrupted migration.

-- overage is the consequence of usage above the included one. With CHARGE, each overage_units units that are begun cost
-- overage_price_cents, in the plan's currency.
ALTER TABLE plan_allowances
    ADD COLUMN IF NOT EXISTS overage text NOT NULL DEFAULT 'ALLOW' CHECK (overage IN ('BLOCK', 'ALLOW', 'CHARGE')),
    ADD COLUMN IF NOT EXISTS overage_price_cents bigint CHECK (overage_price_cents >= 0),
    ADD COLUMN IF NOT EXISTS overage_units bigint CHECK (overage_units >= 1),
    DROP CONSTRAINT IF EXISTS plan_allowances_charge_check,
    ADD CONSTRAINT plan_allowances_charge_check CHECK (
        (overage_price_cents IS NOT NULL) = (overage = 'CHARGE') AND (overage_units IS NOT NULL) = (overage = 'CHARGE'));

-- Thresholds of the included usage that tenants were notified of, one row for each in a period. A row is written in the
-- transaction of its event and mails. Rows are deleted 400 days after the beginning of the period.
CREATE TABLE IF NOT EXISTS usage_thresholds (
    tenant_id    text NOT NULL REFERENCES tenants (id),
    period_start timestamptz NOT NULL,
    meter        text NOT NULL,
    percent      integer NOT NULL CHECK (percent IN (80, 100)),
    used         bigint NOT NULL,
    included     bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, period_start, meter, percent, included)
);
CREATE INDEX IF NOT EXISTS usage_thresholds_period_idx ON usage_thresholds (period_start);

-- For the tenants that have stored something lately.
DROP INDEX CONCURRENTLY IF EXISTS usage_levels_hour_idx;
CREATE INDEX CONCURRENTLY usage_levels_hour_idx ON usage_levels (hour);
-- For the number of a tenant's streams on air or about to be, and of its players on SRS servers.
DROP INDEX CONCURRENTLY IF EXISTS streams_publishing_idx;
CREATE INDEX CONCURRENTLY streams_publishing_idx ON streams (tenant_id) WHERE status IN ('LIVE', 'RECONNECTING') OR publisher_id IS NOT NULL;
-- For the largest number of open restream routes of a stream.
DROP INDEX CONCURRENTLY IF EXISTS restream_routes_tenant_open_idx;
CREATE INDEX CONCURRENTLY restream_routes_tenant_open_idx ON restream_routes (tenant_id, stream_id) WHERE status IN ('pending', 'live');
DROP INDEX CONCURRENTLY IF EXISTS plays_tenant_open_idx;
CREATE INDEX CONCURRENTLY plays_tenant_open_idx ON plays (tenant_id) WHERE ended_at IS NULL;
