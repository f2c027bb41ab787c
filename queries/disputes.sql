-- name: ListDisputes :many
-- The disputes of these orders, oldest first.
SELECT * FROM disputes WHERE tenant_id = @tenant_id AND order_id = ANY (@order_ids::text[]) ORDER BY order_id, opened_at, id;

-- name: SaveDispute :one
-- The order's row is locked.
INSERT INTO disputes (id, tenant_id, order_id, processor_dispute_id, status, reason, amount_cents, currency, evidence_due_at, opened_at, closed_at, created_at, updated_at)
VALUES (@id, @tenant_id, @order_id, @processor_dispute_id, @status, @reason, @amount_cents, @currency, @evidence_due_at, @opened_at, @closed_at, @now, @now)
ON CONFLICT (processor_dispute_id) DO UPDATE SET status = @status, reason = @reason, amount_cents = @amount_cents, currency = @currency,
    evidence_due_at = @evidence_due_at, closed_at = @closed_at, updated_at = @now
WHERE disputes.tenant_id = @tenant_id AND disputes.order_id = @order_id
RETURNING *;
