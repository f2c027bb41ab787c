-- +goose NO TRANSACTION
-- +goose Up
-- For the look at the processor each minute: tenants with an invoice that may still be paid, with a subscription that hasn't ended, and
-- with a page that may be open. They are built without blocking writers; a build that was interrupted leaves an invalid index, which
-- DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS invoices_open_idx;
CREATE INDEX CONCURRENTLY invoices_open_idx ON invoices (tenant_id) WHERE status IN ('DRAFT', 'OPEN');
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_live_idx;
CREATE INDEX CONCURRENTLY subscriptions_live_idx ON subscriptions (tenant_id) WHERE status <> 'CANCELED';
DROP INDEX CONCURRENTLY IF EXISTS billing_customers_away_idx;
CREATE INDEX CONCURRENTLY billing_customers_away_idx ON billing_customers (tenant_id)
    WHERE processor_customer_id IS NOT NULL AND (read_at IS NULL OR read_at < away_until);
