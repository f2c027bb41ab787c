-- name: PutOveragePeriod :exec
-- Creates the period, moves its end while it runs, or opens it again.
INSERT INTO overage_periods (tenant_id, period_start, period_end, subscription_id, currency, look_at, cap_cents, created_at, updated_at)
VALUES (@tenant_id, @period_start, @period_end, @subscription_id, @currency, @now, sqlc.narg('cap_cents'), @now, @now)
ON CONFLICT (tenant_id, period_start) DO UPDATE SET period_end = excluded.period_end, updated_at = excluded.updated_at,
    cap_cents = excluded.cap_cents, look_at = coalesce(overage_periods.look_at, excluded.look_at)
WHERE overage_periods.period_end <> excluded.period_end OR overage_periods.look_at IS NULL;

-- name: ShortenOveragePeriods :exec
-- Ends the periods that began before a time and are not closed, at that time or, if they began at it or later, at their start.
UPDATE overage_periods SET period_end = greatest(period_start, @until::timestamptz), updated_at = @now
WHERE tenant_id = @tenant_id AND look_at IS NOT NULL AND period_end > @until::timestamptz AND period_start <> sqlc.arg('except_start')::timestamptz;

-- name: ListOpenOveragePeriods :many
-- The oldest first.
SELECT * FROM overage_periods WHERE tenant_id = @tenant_id AND look_at IS NOT NULL ORDER BY period_start LIMIT 100;

-- name: GetOveragePeriod :one
SELECT * FROM overage_periods WHERE tenant_id = @tenant_id AND period_start = @period_start;

-- name: SetOverageLook :exec
UPDATE overage_periods SET look_at = sqlc.narg('look_at'), updated_at = @now WHERE tenant_id = @tenant_id AND period_start = @period_start;

-- name: SetAnnouncedCap :exec
UPDATE overage_periods SET cap_percent = @cap_percent, announced_cents = @announced_cents, updated_at = @now
WHERE tenant_id = @tenant_id AND period_start = @period_start;

-- name: SetOverageCap :exec
-- Sets the cap of the periods that run.
UPDATE overage_periods SET cap_cents = sqlc.narg('cap_cents'), updated_at = @now
WHERE tenant_id = @tenant_id AND look_at IS NOT NULL AND period_end > @now::timestamptz;

-- name: DeleteOveragePeriodsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes closed periods with their charges and reports.
WITH old AS (
    SELECT p.tenant_id, p.period_start FROM overage_periods p
    WHERE p.look_at IS NULL AND p.period_start < @before::timestamptz
        AND p.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY p.period_start LIMIT @max_rows
), reports AS (
    DELETE FROM overage_reports r USING old o WHERE r.tenant_id = o.tenant_id AND r.period_start = o.period_start
), charges AS (
    DELETE FROM overage_charges c USING old o WHERE c.tenant_id = o.tenant_id AND c.period_start = o.period_start
)
DELETE FROM overage_periods p USING old o WHERE p.tenant_id = o.tenant_id AND p.period_start = o.period_start;

-- name: ListDueOverage :many
-- @sqlc-vet-disable tenant
-- Covers all tenants: those with a period whose usage is to be added up, the longest waiting first.
SELECT tenant_id FROM overage_periods WHERE look_at <= @now::timestamptz GROUP BY tenant_id ORDER BY min(look_at) LIMIT @max_rows;

-- name: ListChargedTenants :many
-- @sqlc-vet-disable tenant
-- Of some tenants, those with a plan that charges usage in the subscription's currency, and without a period that contains a time.
SELECT DISTINCT s.tenant_id FROM subscriptions s JOIN plan_allowances a ON a.tier = s.plan AND a.overage = 'CHARGE'
JOIN plans n ON n.tier = s.plan AND n.currency = s.currency
WHERE s.tenant_id = ANY (@tenant_ids::text[]) AND s.status IN ('ACTIVE', 'PAST_DUE') AND s.processor_subscription_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM overage_periods p WHERE p.tenant_id = s.tenant_id AND p.period_start <= @now::timestamptz
        AND p.period_end > @now::timestamptz AND p.look_at IS NOT NULL);
