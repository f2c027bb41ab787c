-- +goose NO TRANSACTION
-- +goose Up
-- Counts the existing rows for 0102, less the numbers that its triggers have kept so far. Both are in the same snapshot, so no row is
-- counted twice, and the statement may be repeated after an interruption. A number without rows becomes 0: it is below 0 if the last row
-- of a status got another one since 0102.
WITH by_status AS (
    SELECT 'recordings_by_status' AS scope, tenant_id, status, count(*) AS n FROM recordings GROUP BY 2, 3
    UNION ALL
    SELECT 'subscriptions_by_status', tenant_id, status, count(*) FROM subscriptions GROUP BY 2, 3
    UNION ALL
    SELECT 'invoices_by_status', tenant_id, status, count(*) FROM invoices GROUP BY 2, 3
), counted AS (
    SELECT scope, coalesce(tenant_id, '') || '/' || status AS key, sum(n) AS n FROM by_status
    GROUP BY GROUPING SETS ((scope, tenant_id, status), (scope, status))
    UNION ALL
    SELECT 'all_' || scope, '', sum(n) FROM row_numbers WHERE scope IN ('streams', 'aired_streams', 'stream_keys', 'used_stream_keys')
    GROUP BY scope
    UNION ALL
    SELECT scope, key, -n FROM row_numbers WHERE scope IN ('recordings_by_status', 'subscriptions_by_status', 'invoices_by_status',
        'all_streams', 'all_aired_streams', 'all_stream_keys', 'all_used_stream_keys')
)
INSERT INTO row_counts (scope, key, n) SELECT scope, key, sum(n) FROM counted GROUP BY scope, key
ON CONFLICT (scope, key) DO UPDATE SET n = row_counts.n + excluded.n;

-- Built without blocking writers. An interrupted build leaves an invalid index, which the DROP removes.

-- Pages of the recordings of one status, and of one tenant.
DROP INDEX CONCURRENTLY IF EXISTS recordings_status_page_idx;
CREATE INDEX CONCURRENTLY recordings_status_page_idx ON recordings (status, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS recordings_tenant_page_idx;
CREATE INDEX CONCURRENTLY recordings_tenant_page_idx ON recordings (tenant_id, created_at DESC, id DESC) INCLUDE (status);
-- Subscriptions that are paid for, by plan, and those that end with their period.
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_recurring_idx;
CREATE INDEX CONCURRENTLY subscriptions_recurring_idx ON subscriptions (currency, plan) INCLUDE (monthly_cents) WHERE monthly_cents > 0;
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_canceling_idx;
CREATE INDEX CONCURRENTLY subscriptions_canceling_idx ON subscriptions (tenant_id) WHERE cancel_at_period_end AND status <> 'CANCELED';
-- Payments of a tenant by time.
DROP INDEX CONCURRENTLY IF EXISTS invoices_paid_idx;
CREATE INDEX CONCURRENTLY invoices_paid_idx ON invoices (tenant_id, paid_at) INCLUDE (currency, paid_cents) WHERE paid_cents > 0;
