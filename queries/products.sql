-- name: LockProducts :many
-- In the order of ids, in which everybody locks products.
SELECT * FROM products WHERE tenant_id = @tenant_id AND id = ANY (@ids::text[]) ORDER BY id FOR UPDATE;

-- name: HoldProducts :execrows
-- Each quantity may be negative. The rows are locked already.
UPDATE products p SET held = p.held + l.quantity
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@quantities::bigint[]) AS quantity) l
WHERE p.tenant_id = @tenant_id AND p.id = l.id;

-- name: TakeProducts :many
-- The rows are locked already, so that b is what they were before.
UPDATE products p SET stock = CASE WHEN p.stock < 0 THEN p.stock ELSE greatest(p.stock - l.quantity, 0) END,
    held = p.held - CASE WHEN @held::boolean THEN l.quantity ELSE 0 END, updated_at = @now
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@quantities::bigint[]) AS quantity) l JOIN products b ON b.id = l.id
WHERE p.tenant_id = @tenant_id AND p.id = l.id
RETURNING sqlc.embed(p), b.stock AS stock_before;
