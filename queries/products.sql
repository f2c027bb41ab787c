-- name: ListProducts :many
-- Finds the page, including the search, with the index only; then reads its rows.
WITH page AS MATERIALIZED (
    SELECT f.id FROM products f WHERE f.tenant_id = @tenant_id AND f.id < @before AND f.search LIKE @pattern
    ORDER BY f.id DESC LIMIT @max_rows
)
SELECT p.* FROM page JOIN products p ON p.id = page.id WHERE p.tenant_id = @tenant_id ORDER BY p.id DESC;

-- name: ListActiveProducts :many
WITH page AS MATERIALIZED (
    SELECT f.id FROM products f WHERE f.tenant_id = @tenant_id AND f.active AND f.id < @before AND f.search LIKE @pattern
    ORDER BY f.id DESC LIMIT @max_rows
)
SELECT p.* FROM page JOIN products p ON p.id = page.id WHERE p.tenant_id = @tenant_id ORDER BY p.id DESC;

-- name: GetProduct :one
SELECT * FROM products WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListProductsByID :many
SELECT * FROM products WHERE tenant_id = @tenant_id AND id = ANY (@ids::text[]);

-- name: LockProduct :one
SELECT * FROM products WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: ArchiveProduct :one
UPDATE products SET active = false, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: LockProductsByExternalID :many
-- Locks in the order of ids, as every transaction does. Looks each SKU up separately, so the planner never reads the
-- tenant's whole catalog, for any table statistics.
WITH known AS MATERIALIZED (
    SELECT f.id FROM (SELECT unnest(@external_ids::text[]) AS external_id) g CROSS JOIN LATERAL (
        SELECT k.id FROM products k WHERE k.tenant_id = @tenant_id AND k.external_id = g.external_id LIMIT 1) f
)
SELECT p.* FROM products p WHERE p.id IN (SELECT known.id FROM known) ORDER BY p.id FOR UPDATE OF p;

-- name: WriteProducts :one
-- Writes whole rows: the fresh ones are inserted, the others, which are already locked, updated. Returns the number of
-- inserted rows: an SKU that another transaction has just inserted isn't changed, since that would lock its row out of order.
-- If two transactions insert the same SKUs, one waits for the other, since both insert in the order of SKUs.
-- The arrays have one element for each row and contain no NULL; '' and -1 stand for it.
WITH given AS MATERIALIZED (
    SELECT unnest(@ids::text[]) AS id, unnest(@fresh::boolean[]) AS fresh, unnest(@external_ids::text[]) AS external_id,
        unnest(@names::text[]) AS name, unnest(@descriptions::text[]) AS description, unnest(@image_urls::text[]) AS image_url,
        unnest(@price_cents::bigint[]) AS price_cents, unnest(@compare_at_cents::bigint[]) AS compare_at_cents,
        unnest(@currencies::text[]) AS currency, unnest(@stocks::bigint[]) AS stock, unnest(@low_stock_at::bigint[]) AS low_stock_at,
        unnest(@active::boolean[]) AS active, unnest(@price_ids::text[]) AS price_id, unnest(@metadata::text[])::jsonb AS metadata,
        unnest(@searches::text[]) AS search
), updated AS (
    UPDATE products p SET name = g.name, description = g.description, image_url = nullif(g.image_url, ''), price_cents = g.price_cents,
        compare_at_cents = nullif(g.compare_at_cents, -1), currency = g.currency, stock = g.stock, low_stock_at = g.low_stock_at,
        active = g.active, processor_price_id = nullif(g.price_id, ''), metadata = g.metadata, search = g.search, updated_at = @now::timestamptz
    FROM given g WHERE NOT g.fresh AND p.tenant_id || '' = @tenant_id AND p.id = g.id -- by id, for any table statistics
), inserted AS (
    INSERT INTO products (id, tenant_id, external_id, name, description, image_url, price_cents, compare_at_cents, currency, stock,
        low_stock_at, active, metadata, search, created_at, updated_at)
    SELECT g.id, @tenant_id, g.external_id, g.name, g.description, nullif(g.image_url, ''), g.price_cents, nullif(g.compare_at_cents, -1),
        g.currency, g.stock, g.low_stock_at, g.active, g.metadata, g.search, @now::timestamptz, @now::timestamptz
    FROM given g WHERE g.fresh ORDER BY g.external_id
    ON CONFLICT (tenant_id, external_id) DO NOTHING RETURNING id
)
SELECT count(*) FROM inserted;

-- name: SetProcessorPrice :exec
-- Does nothing if the product's name, price or currency has changed since the price was created at the processor.
UPDATE products SET processor_price_id = @processor_price_id::text, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND name = @name AND price_cents = @price_cents AND currency = @currency;

-- name: ListProductNames :many
SELECT id, name FROM products WHERE tenant_id = @tenant_id AND id = ANY (@ids::text[]);

-- name: LockProducts :many
-- In the order of ids, in which every transaction locks products.
SELECT * FROM products WHERE tenant_id = @tenant_id AND id = ANY (@ids::text[]) ORDER BY id FOR UPDATE;

-- name: HoldProducts :execrows
-- Each quantity may be negative. The rows are already locked.
UPDATE products p SET held = p.held + l.quantity
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@quantities::bigint[]) AS quantity) l
WHERE p.tenant_id = @tenant_id AND p.id = l.id;

-- name: TakeProducts :many
-- The rows are already locked, so b has their previous values.
UPDATE products p SET stock = CASE WHEN p.stock < 0 THEN p.stock ELSE greatest(p.stock - l.quantity, 0) END,
    held = p.held - CASE WHEN @held::boolean THEN l.quantity ELSE 0 END, updated_at = @now
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@quantities::bigint[]) AS quantity) l JOIN products b ON b.id = l.id
WHERE p.tenant_id = @tenant_id AND p.id = l.id
RETURNING sqlc.embed(p), b.stock AS stock_before;

-- name: ForgetPrices :exec
-- Locked in the order of ids first, as everywhere.
WITH locked AS MATERIALIZED (
    SELECT l.id FROM products l WHERE l.tenant_id = @tenant_id AND l.id = ANY (@ids::text[]) AND l.processor_price_id IS NOT NULL ORDER BY l.id FOR UPDATE
)
UPDATE products p SET processor_price_id = NULL FROM locked WHERE p.tenant_id = @tenant_id AND p.id = locked.id;
