-- +goose NO TRANSACTION
-- +goose Up
-- The platform's fees by month. It is built without blocking writers; a build that was interrupted leaves an invalid index, which DROP
-- removes.
DROP INDEX CONCURRENTLY IF EXISTS orders_fees_idx;
CREATE INDEX CONCURRENTLY orders_fees_idx ON orders (paid_at) INCLUDE (currency, paid_currency, application_fee_cents)
    WHERE paid_at IS NOT NULL AND application_fee_cents > 0;
