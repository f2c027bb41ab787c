-- +goose Up

-- What tenants sell. Units that running checkouts and auctions hold are still in
-- stock: free are stock - held.
CREATE TABLE products (
    id                 text PRIMARY KEY,
    -- Without a reference: it would be looked up for each of a sync's 500 rows,
    -- which is a third of what writing them costs, and no tenant is ever deleted.
    tenant_id          text NOT NULL,
    external_id        text NOT NULL,
    name               text NOT NULL,
    description        text NOT NULL DEFAULT '',
    image_url          text,
    price_cents        bigint NOT NULL CHECK (price_cents >= 0),
    compare_at_cents   bigint CHECK (compare_at_cents >= 0),
    currency           text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- -1: not counted. Held is counted all the same, since counting may begin
    -- while checkouts run.
    stock              bigint NOT NULL CHECK (stock >= -1),
    held               bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    low_stock_at       bigint NOT NULL CHECK (low_stock_at >= 0),
    active             boolean NOT NULL DEFAULT true,
    -- The processor's price for the name, price and currency as they are here;
    -- null before the first sale and after one of them changed.
    processor_price_id text,
    metadata           jsonb NOT NULL DEFAULT '{}',
    -- Name and external_id with their case folded by the program, since what a
    -- database makes of case depends on its locale.
    search             text NOT NULL DEFAULT '',
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL
-- Room on each page, so that a change of stock touches no index. Searches read
-- the indexes alone while pages are known to be visible to all, so the vacuum
-- that finds out comes sooner than by default.
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE UNIQUE INDEX products_external_key ON products (tenant_id, external_id);
-- A search for any text goes through the tenant's part of one of these.
CREATE INDEX products_tenant_idx ON products (tenant_id, id DESC) INCLUDE (search);
CREATE INDEX products_active_idx ON products (tenant_id, id DESC) INCLUDE (search) WHERE active;
