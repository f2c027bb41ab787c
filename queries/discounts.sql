-- name: CreateDiscount :one
INSERT INTO discounts (id, tenant_id, code, percent_off, amount_off_cents, starts_at, ends_at, max_redemptions, max_per_customer, stream_id, active, dropped, created_at, updated_at)
VALUES (@id, @tenant_id, @code, sqlc.narg('percent_off'), sqlc.narg('amount_off_cents'), sqlc.narg('starts_at'), sqlc.narg('ends_at'),
    sqlc.narg('max_redemptions'), sqlc.narg('max_per_customer'), sqlc.narg('stream_id'), @active, @dropped, @now, @now) RETURNING *;

-- name: ListDiscounts :many
SELECT * FROM discounts
WHERE tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: ListDrops :many
-- The dropped codes of a stream that can be used now, newest first.
SELECT * FROM discounts
WHERE tenant_id = @tenant_id AND stream_id = @stream_id::text AND dropped AND active AND percent_off IS NOT NULL
  AND starts_at <= @now::timestamptz AND ends_at > @now::timestamptz
  AND (max_redemptions IS NULL OR redemptions + held < max_redemptions)
ORDER BY id DESC LIMIT @max_rows;

-- name: CheckDiscount :one
-- Codes are ASCII, so lower() works with every locale of the database.
SELECT sqlc.embed(d),
    (SELECT count(*) FROM orders o WHERE o.tenant_id = @tenant_id AND o.discount_id = d.id
        AND o.customer_external_id = sqlc.narg('customer')::text AND o.status <> 'EXPIRED')::bigint AS customer_uses
FROM discounts d WHERE d.tenant_id = @tenant_id AND lower(d.code) = lower(@code);

-- name: HoldDiscount :one
-- Locks the code and holds a use of it in one statement. The caller decides by the returned
-- row whether the hold is allowed; a refusal rolls it back.
UPDATE discounts SET held = held + 1, updated_at = @now
WHERE tenant_id = @tenant_id AND lower(code) = lower(@code) RETURNING *;

-- name: CountDiscountUses :one
-- Exact only after the discount's row is locked, in a statement of its own: a
-- statement sees what was committed when it began.
SELECT count(*) FROM orders o JOIN discounts d ON d.id = o.discount_id
WHERE o.tenant_id = @tenant_id AND d.tenant_id = @tenant_id AND lower(d.code) = lower(@code)
  AND o.customer_external_id = @customer AND o.status <> 'EXPIRED';

-- name: ReleaseDiscount :execrows
UPDATE discounts SET held = held - 1, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: RedeemDiscount :execrows
UPDATE discounts SET redemptions = redemptions + 1, held = held - CASE WHEN @was_held::boolean THEN 1 ELSE 0 END, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id;
