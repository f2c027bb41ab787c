-- +goose Up

-- Auctions of one unit of a product. Bids queue for the row's lock, so the row holds
-- everything that decides about the next bid.
CREATE TABLE auctions (
    id                  text PRIMARY KEY,
    tenant_id           text NOT NULL REFERENCES tenants (id),
    product_id          text NOT NULL REFERENCES products (id),
    stream_id           text NOT NULL REFERENCES streams (id),
    starting_bid_cents  bigint NOT NULL CHECK (starting_bid_cents >= 0),
    reserve_price_cents bigint CHECK (reserve_price_cents >= 0),
    bid_increment_cents bigint NOT NULL CHECK (bid_increment_cents > 0),
    currency            text NOT NULL,
    anti_snipe_sec      integer NOT NULL CHECK (anti_snipe_sec >= 0),
    status              text NOT NULL DEFAULT 'LIVE' CHECK (status IN ('LIVE', 'ENDED', 'SETTLED', 'CANCELLED')),
    ends_at             timestamptz NOT NULL,
    -- The current highest bid.
    top_bid_id          text,
    top_bid_cents       bigint,
    -- Both null if there is no winner.
    winning_bid_id      text,
    order_id            text,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX auctions_tenant_idx ON auctions (tenant_id, id DESC);
CREATE INDEX auctions_status_idx ON auctions (tenant_id, status, id DESC);
CREATE INDEX auctions_live_idx ON auctions (id) WHERE status = 'LIVE';

CREATE TABLE bids (
    id                 text PRIMARY KEY,
    -- Tenant of the auction.
    tenant_id          text NOT NULL,
    auction_id         text NOT NULL REFERENCES auctions (id),
    amount_cents       bigint NOT NULL CHECK (amount_cents >= 0),
    bidder_external_id text NOT NULL,
    bidder_name        text NOT NULL,
    created_at         timestamptz NOT NULL
);
-- An auction never has two bids of the same amount, even if the code has a bug.
CREATE UNIQUE INDEX bids_amount_key ON bids (auction_id, amount_cents);
