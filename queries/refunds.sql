-- name: CreateRefund :one
INSERT INTO refunds (id, tenant_id, order_id, amount_cents, status, source, reason, idempotency_key, processor_refund_id, created_at, updated_at)
VALUES (@id, @tenant_id, @order_id, @amount_cents, @status, @source, @reason, @idempotency_key, @processor_refund_id, @now, @now)
RETURNING *;

-- name: ListRefunds :many
-- The refunds of these orders, oldest first. A caller that decides by them holds the order's lock.
SELECT * FROM refunds WHERE tenant_id = @tenant_id AND order_id = ANY (@order_ids::text[]) ORDER BY order_id, id;

-- name: GetRefundForFinish :one
-- @sqlc-vet-disable tenant
-- The job knows only the refund.
SELECT sqlc.embed(r), sqlc.embed(o) FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.id = @id;

-- name: SetRefundStatus :one
-- The order's row is locked.
UPDATE refunds SET status = @status, revived = revived OR status = 'FAILED' AND @status = 'PENDING', processor_refund_id = coalesce(sqlc.narg('processor_refund_id')::text, processor_refund_id),
    failure_reason = sqlc.narg('failure_reason'), updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetOrderRefunded :exec
-- The row is locked.
UPDATE orders SET refunded_cents = @refunded_cents, status = @status, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: FindOrderOfPayment :one
-- @sqlc-vet-disable tenant
-- The processor names accounts and payments, not tenants.
SELECT tenant_id, id FROM orders
WHERE payment_intent_id = @payment_intent_id::text AND processor_account_id = @processor_account_id::text;
