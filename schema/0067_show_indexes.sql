-- +goose NO TRANSACTION
-- +goose Up

-- The auctions and the dropped codes of one stream. A build that was interrupted leaves an invalid index, which DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS auctions_stream_idx;
CREATE INDEX CONCURRENTLY auctions_stream_idx ON auctions (stream_id, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS discounts_drops_idx;
CREATE INDEX CONCURRENTLY discounts_drops_idx ON discounts (stream_id, id DESC) WHERE dropped;
