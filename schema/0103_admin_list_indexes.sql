-- +goose NO TRANSACTION
-- +goose Up
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
