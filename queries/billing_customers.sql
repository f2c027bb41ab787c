-- name: EnsureBillingCustomer :exec
INSERT INTO billing_customers (tenant_id, created_at, updated_at) VALUES (@tenant_id, @now, @now) ON CONFLICT (tenant_id) DO NOTHING;

-- name: GetBillingCustomer :one
SELECT * FROM billing_customers WHERE tenant_id = @tenant_id;

-- name: FindBillingCustomer :one
-- @sqlc-vet-disable tenant
-- The tenant is the result.
SELECT tenant_id FROM billing_customers WHERE processor_customer_id = @processor_customer_id;

-- name: LockBillingCustomer :one
SELECT * FROM billing_customers WHERE tenant_id = @tenant_id FOR UPDATE;

-- name: SetProcessorCustomer :execrows
-- Keeps the first one.
UPDATE billing_customers SET processor_customer_id = @processor_customer_id, updated_at = @now
WHERE tenant_id = @tenant_id AND processor_customer_id IS NULL;

-- name: BeginBillingRead :one
-- Numbers a reading of the processor's state.
UPDATE billing_customers SET reads_begun = reads_begun + 1 WHERE tenant_id = @tenant_id
RETURNING reads_begun, processor_customer_id;

-- name: SetBillingRead :exec
UPDATE billing_customers SET read_applied = @number, read_at = @read_at, updated_at = @now WHERE tenant_id = @tenant_id;

-- name: SetGrantedPlan :exec
UPDATE billing_customers SET granted_plan = @granted_plan, updated_at = @now WHERE tenant_id = @tenant_id;

-- name: SetAway :exec
-- A person goes to a hosted page. checkout_id stays as it is if the page isn't a checkout.
UPDATE billing_customers SET checkout_id = coalesce(sqlc.narg('checkout_id'), checkout_id), away_until = greatest(away_until, @away_until::timestamptz), updated_at = @now
WHERE tenant_id = @tenant_id;

-- name: ListStaleBillingCustomers :many
-- @sqlc-vet-disable tenant
-- Covers all tenants: customers that were last read before a time, and that have a subscription which hasn't ended, an invoice since
-- another time that may still be paid, or a page that was open at the last reading or later. The longest unread first. Each branch
-- reads a partial index, so the customers whose state can't change cost nothing.
SELECT c.tenant_id FROM (
    SELECT s.tenant_id FROM subscriptions s WHERE s.status <> 'CANCELED'
    UNION
    SELECT i.tenant_id FROM invoices i WHERE i.status IN ('DRAFT', 'OPEN') AND i.created_at > @invoices_since::timestamptz
    UNION
    SELECT b.tenant_id FROM billing_customers b
    WHERE b.processor_customer_id IS NOT NULL AND (b.read_at IS NULL OR b.read_at < b.away_until)
) w
JOIN billing_customers c ON c.tenant_id = w.tenant_id
WHERE c.processor_customer_id IS NOT NULL AND (c.read_at IS NULL OR c.read_at < @read_before::timestamptz)
ORDER BY c.read_at NULLS FIRST LIMIT @max_rows;

-- name: SetOverageStatus :exec
UPDATE billing_customers SET overage_status = sqlc.narg('overage_status'), updated_at = @now
WHERE tenant_id = @tenant_id AND overage_status IS DISTINCT FROM sqlc.narg('overage_status');
