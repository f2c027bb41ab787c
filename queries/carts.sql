-- name: GetCart :one
SELECT * FROM carts WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND user_id = @user_id;

-- name: StoreCart :one
-- The caller has checked that the tenant has the stream.
INSERT INTO carts (tenant_id, stream_id, user_id, product_ids, quantities, discount_code, filled, created_at, updated_at)
VALUES (@tenant_id, @stream_id, @user_id, @product_ids, @quantities, sqlc.narg('discount_code'), cardinality(@product_ids::text[]) > 0, @now, @now)
ON CONFLICT (stream_id, user_id) DO UPDATE
SET product_ids = excluded.product_ids, quantities = excluded.quantities, discount_code = excluded.discount_code,
    filled = carts.filled OR excluded.filled, updated_at = excluded.updated_at
RETURNING *;

-- name: CountCarts :one
SELECT count(*) FROM carts WHERE tenant_id = @tenant_id AND stream_id = @stream_id AND filled;

-- name: DeleteCartsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM carts WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM carts c WHERE c.updated_at < @before
    AND c.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY c.updated_at LIMIT @max_rows));
