-- name: AddClicks :exec
-- Adds the clicks on different products, in the order of their ids, in which every transaction locks the rows.
INSERT INTO product_clicks (tenant_id, stream_id, product_id, clicks)
SELECT @tenant_id, @stream_id, g.product_id, g.clicks
FROM (SELECT unnest(@product_ids::text[]) AS product_id, unnest(@clicks::bigint[]) AS clicks) g ORDER BY g.product_id
ON CONFLICT (stream_id, product_id) DO UPDATE SET clicks = product_clicks.clicks + excluded.clicks;

-- name: ListClicks :many
SELECT product_id, clicks FROM product_clicks WHERE tenant_id = @tenant_id AND stream_id = @stream_id ORDER BY clicks DESC, product_id;
