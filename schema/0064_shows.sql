-- +goose Up
SET LOCAL lock_timeout = '200ms';

-- The show that a stream is: when it is planned, its picture, the products on its shelf (NULL: the newest active ones), and whether
-- its recordings can be watched without a token (NULL: those with products).
ALTER TABLE streams
    ADD COLUMN scheduled_at  timestamptz,
    ADD COLUMN poster_url    text,
    ADD COLUMN product_ids   text[] DEFAULT '{}',
    ADD COLUMN public_replay boolean DEFAULT false;
-- Streams from before show no products and have no public recordings: their ids may be known to viewers. New streams get NULL.
ALTER TABLE streams
    ALTER COLUMN product_ids DROP DEFAULT,
    ALTER COLUMN public_replay DROP DEFAULT;

-- How a tenant's pages look, and the websites that may frame them.
ALTER TABLE tenants
    ADD COLUMN logo_url      text,
    ADD COLUMN primary_color text,
    ADD COLUMN accent_color  text,
    ADD COLUMN embed_origins text[] NOT NULL DEFAULT '{}';

-- The name that a buyer gave.
ALTER TABLE orders ADD COLUMN customer_name text;

-- A buyer's cart in a stream and its replays. It holds no units.
CREATE TABLE carts (
    tenant_id     text NOT NULL REFERENCES tenants (id),
    stream_id     text NOT NULL REFERENCES streams (id),
    user_id       text NOT NULL,
    product_ids   text[] NOT NULL,
    quantities    integer[] NOT NULL,
    discount_code text,
    -- Whether it has or had a line.
    filled        boolean NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (stream_id, user_id)
);
CREATE INDEX carts_updated_idx ON carts (updated_at);

-- How often a product was opened in a stream and its replays. The viewer isn't stored.
CREATE TABLE product_clicks (
    tenant_id  text NOT NULL REFERENCES tenants (id),
    stream_id  text NOT NULL REFERENCES streams (id),
    product_id text NOT NULL,
    clicks     bigint NOT NULL,
    PRIMARY KEY (stream_id, product_id)
);
