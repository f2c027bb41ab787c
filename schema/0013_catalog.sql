-- +goose Up

-- Products. Units that open checkouts and auctions hold are included in stock: the
-- free units are stock - held.
CREATE TABLE products (
    id                 text PRIMARY KEY,
    -- Without a foreign key: its look-up for each of a sync's 500 rows takes a third of
    -- the time of writing them, and tenants are never deleted.
    tenant_id          text NOT NULL,
    external_id        text NOT NULL,
    name               text NOT NULL,
    description        text NOT NULL DEFAULT '',
    image_url          text,
    price_cents        bigint NOT NULL CHECK (price_cents >= 0),
    compare_at_cents   bigint CHECK (compare_at_cents >= 0),
    currency           text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- -1: the stock is not counted. held is counted even then, because counting may begin
    -- while checkouts are open.
    stock              bigint NOT NULL CHECK (stock >= -1),
    held               bigint NOT NULL DEFAULT 0 CHECK (held >= 0),
    low_stock_at       bigint NOT NULL CHECK (low_stock_at >= 0),
    active             boolean NOT NULL DEFAULT true,
    -- The processor's price for the current name, price and currency; null before the
    -- first sale and after one of them has changed.
    processor_price_id text,
    metadata           jsonb NOT NULL DEFAULT '{}',
    -- Name and external_id, case-folded by the server, because case folding in a
    -- database depends on its locale.
    search             text NOT NULL DEFAULT '',
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL
-- Free space on each page, so that a change of stock updates no index. Searches read
-- the indexes alone while pages are marked as visible to all, so the vacuum that
-- marks them runs more often than by default.
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE UNIQUE INDEX products_external_key ON products (tenant_id, external_id);
-- A search for any text scans the tenant's part of one of these indexes.
CREATE INDEX products_tenant_idx ON products (tenant_id, id DESC) INCLUDE (search);
CREATE INDEX products_active_idx ON products (tenant_id, id DESC) INCLUDE (search) WHERE active;
