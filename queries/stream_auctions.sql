-- name: ListStreamAuctions :many
-- The auctions of a stream that are LIVE or ended after a time, newest first. A cancelled one ended when it was last changed.
SELECT sqlc.embed(a), b.bidder_external_id, b.bidder_name, b.created_at AS bid_at
FROM auctions a LEFT JOIN bids b ON b.id = a.top_bid_id
WHERE a.tenant_id = @tenant_id AND a.stream_id = @stream_id
  AND (a.status = 'LIVE' OR CASE a.status WHEN 'CANCELLED' THEN a.updated_at ELSE a.ends_at END > @since::timestamptz)
ORDER BY a.id DESC LIMIT @max_rows;
