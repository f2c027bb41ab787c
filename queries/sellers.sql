-- name: EnsureSeller :exec
-- Records that an account is about to be requested, unless that is already recorded.
INSERT INTO sellers (tenant_id, created_at, updated_at) VALUES (@tenant_id, @now, @now) ON CONFLICT (tenant_id) DO NOTHING;

-- name: GetSeller :one
SELECT sqlc.embed(s), t.name AS tenant_name, t.charges_enabled
FROM sellers s JOIN tenants t ON t.id = s.tenant_id
WHERE s.tenant_id = @tenant_id;

-- name: GetSellerTenant :one
-- @sqlc-vet-disable tenant
-- The processor names accounts, not tenants.
SELECT tenant_id FROM sellers WHERE processor_account_id = @processor_account_id::text;

-- name: SetSellerAccount :execrows
-- Stores the seller's account; a stored one doesn't change.
UPDATE sellers SET processor_account_id = @processor_account_id::text, updated_at = @now
WHERE tenant_id = @tenant_id AND processor_account_id IS NULL;

-- name: AskSeller :one
-- Numbers a query to the processor about an account, unless the last query was sent after @asked_before. A time in the future
-- was written before a clock was set back, and doesn't prevent a query.
UPDATE sellers SET asked = asked + 1, asked_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND processor_account_id = @processor_account_id::text
  AND (asked_at IS NULL OR asked_at <= @asked_before::timestamptz OR asked_at > @now::timestamptz)
RETURNING asked;

-- name: SetSellerState :execrows
-- Stores the answer to a query, unless the answer to a later query is already stored. Compares numbers, not times: the clocks of
-- several servers differ, and can be set back.
UPDATE sellers SET details_submitted = coalesce(sqlc.narg('details_submitted')::boolean, details_submitted), answered = @question,
    checked_at = @now::timestamptz, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND processor_account_id = @processor_account_id::text AND answered < @question;

-- name: SetChargesEnabled :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET charges_enabled = @charges_enabled, updated_at = @now WHERE id = @tenant_id;
