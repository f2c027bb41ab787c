-- name: CreateUsageThreshold :execrows
-- No row if the threshold was reported before.
INSERT INTO usage_thresholds (tenant_id, period_start, meter, percent, used, included, created_at)
VALUES (@tenant_id, @period_start, @meter, @percent, @used, @included, @now)
ON CONFLICT (tenant_id, period_start, meter, percent, included) DO NOTHING;

-- name: ListUsageThresholds :many
-- The reported thresholds of a tenant's period.
SELECT meter, percent, included FROM usage_thresholds WHERE tenant_id = @tenant_id AND period_start = @period_start;

-- name: DeleteUsageThresholdsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM usage_thresholds WHERE (tenant_id, period_start, meter, percent) IN (
    SELECT u.tenant_id, u.period_start, u.meter, u.percent FROM usage_thresholds u
    WHERE u.period_start < @before::timestamptz AND u.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY u.period_start LIMIT @max_rows);
