-- name: EnsureSeller :exec
-- Notes that an account is about to be asked for, unless that was noted before.
INSERT INTO sellers (tenant_id, created_at, updated_at) VALUES (@tenant_id, @now, @now) ON CONFLICT (tenant_id) DO NOTHING;

-- name: GetSeller :one
SELECT sqlc.embed(s), t.name AS tenant_name, t.charges_enabled
FROM sellers s JOIN tenants t ON t.id = s.tenant_id
WHERE s.tenant_id = @tenant_id;

-- name: GetSellerTenant :one
-- @sqlc-vet-disable tenant
-- The processor names accounts and knows no tenants.
SELECT tenant_id FROM sellers WHERE processor_account_id = @processor_account_id::text;

-- name: SetSellerAccount :execrows
-- Gives the seller its account, once.
UPDATE sellers SET processor_account_id = @processor_account_id::text, updated_at = @now
WHERE tenant_id = @tenant_id AND processor_account_id IS NULL;

-- name: AskSeller :one
-- Numbers a question to the processor about an account, unless the last one was asked after @asked_before. A time that is ahead of
-- the clock was written by a clock that has gone back since, and keeps nobody from asking.
UPDATE sellers SET asked = asked + 1, asked_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND processor_account_id = @processor_account_id::text
  AND (asked_at IS NULL OR asked_at <= @asked_before::timestamptz OR asked_at > @now::timestamptz)
RETURNING asked;

-- name: SetSellerState :execrows
-- Stores the answer to a question, unless the answer to a later question is stored already. Numbers decide, not times: clocks of
-- several servers differ, and can go back.
UPDATE sellers SET details_submitted = coalesce(sqlc.narg('details_submitted')::boolean, details_submitted), answered = @question,
    checked_at = @now::timestamptz, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND processor_account_id = @processor_account_id::text AND answered < @question;

-- name: SetChargesEnabled :exec
-- @sqlc-vet-disable tenant
-- The id is the tenant.
UPDATE tenants SET charges_enabled = @charges_enabled, updated_at = @now WHERE id = @tenant_id;
