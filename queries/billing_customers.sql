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
-- Covers all tenants: customers that were last read before a time, and that have a subscription which hasn't ended, an invoice of the
-- last 90 days that may still be paid, or a page that may be open, or was open at the last reading. The longest unread first.
SELECT c.tenant_id FROM billing_customers c
WHERE c.processor_customer_id IS NOT NULL AND (c.read_at IS NULL OR c.read_at < @read_before::timestamptz)
  AND (c.away_until > @now::timestamptz OR c.read_at IS NULL OR c.read_at < c.away_until
    OR EXISTS (SELECT FROM subscriptions s WHERE s.tenant_id = c.tenant_id AND s.status <> 'CANCELED')
    OR EXISTS (SELECT FROM invoices i WHERE i.tenant_id = c.tenant_id AND i.status IN ('DRAFT', 'OPEN')
        AND i.created_at + interval '90 days' > @now::timestamptz))
ORDER BY c.read_at NULLS FIRST LIMIT @max_rows;

-- name: SetOverageStatus :exec
UPDATE billing_customers SET overage_status = sqlc.narg('overage_status'), updated_at = @now
WHERE tenant_id = @tenant_id AND overage_status IS DISTINCT FROM sqlc.narg('overage_status');
