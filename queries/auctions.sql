-- name: CreateAuction :one
-- Times are the database's, in whole milliseconds as the API shows them.
INSERT INTO auctions (id, tenant_id, product_id, stream_id, starting_bid_cents, reserve_price_cents, bid_increment_cents,
    currency, anti_snipe_sec, ends_at, created_at, updated_at)
VALUES (@id, @tenant_id, @product_id, @stream_id, @starting_bid_cents, @reserve_price_cents, @bid_increment_cents,
    @currency, @anti_snipe_sec, date_trunc('milliseconds', statement_timestamp()) + make_interval(secs => @duration_sec::integer),
    date_trunc('milliseconds', statement_timestamp()), statement_timestamp())
RETURNING *;

-- name: GetAuction :one
SELECT sqlc.embed(a), b.bidder_external_id, b.bidder_name, b.created_at AS bid_at
FROM auctions a LEFT JOIN bids b ON b.id = a.top_bid_id
WHERE a.tenant_id = @tenant_id AND a.id = @id;

-- name: ListAuctions :many
SELECT sqlc.embed(a), b.bidder_external_id, b.bidder_name, b.created_at AS bid_at
FROM auctions a LEFT JOIN bids b ON b.id = a.top_bid_id
WHERE a.tenant_id = @tenant_id AND (sqlc.narg('status')::text IS NULL OR a.status = sqlc.narg('status')::text)
  AND (sqlc.narg('cursor')::text IS NULL OR a.id < sqlc.narg('cursor')::text)
ORDER BY a.id DESC LIMIT @max_rows;

-- name: LockAuction :one
-- Reads the database's clock after the row is locked: a bid that waited for the lock beyond the end is too late.
WITH a AS MATERIALIZED (SELECT * FROM auctions WHERE auctions.tenant_id = @tenant_id AND auctions.id = @id FOR UPDATE)
SELECT a.*, clock_timestamp()::timestamptz AS now FROM a;

-- name: PlaceBids :exec
-- Inserts the bids in order and updates the auction with their result. The caller holds the auction's lock.
WITH placed AS (
    INSERT INTO bids (id, tenant_id, auction_id, amount_cents, bidder_external_id, bidder_name, created_at)
    SELECT unnest(@ids::text[]), @tenant_id, @auction_id, unnest(@amounts::bigint[]), unnest(@bidder_external_ids::text[]),
        unnest(@bidder_names::text[]), @now)
UPDATE auctions SET top_bid_id = @top_bid_id, top_bid_cents = @top_bid_cents, ends_at = @ends_at, updated_at = @now
WHERE auctions.tenant_id = @tenant_id AND auctions.id = @auction_id;

-- name: GetBid :one
SELECT * FROM bids WHERE tenant_id = @tenant_id AND id = @id;

-- name: CloseAuction :exec
UPDATE auctions SET status = @status, winning_bid_id = @winning_bid_id, order_id = @order_id, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id;

-- name: SetAuctionSettled :exec
-- Records that the winner's order was paid.
UPDATE auctions SET status = 'SETTLED', updated_at = @now WHERE tenant_id = @tenant_id AND id = @id AND status = 'ENDED';

-- name: ListOverdueAuctions :many
-- @sqlc-vet-disable tenant
-- Lists auctions of all tenants, the longest overdue first.
SELECT tenant_id, id FROM auctions WHERE status = 'LIVE' AND ends_at <= clock_timestamp() ORDER BY ends_at, id LIMIT @max_rows;
