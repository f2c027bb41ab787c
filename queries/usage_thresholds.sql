-- name: CreateUsageThreshold :execrows
-- No row if the threshold was reported before.
INSERT INTO usage_thresholds (tenant_id, period_start, meter, percent, used, included, created_at)
VALUES (@tenant_id, @period_start, @meter, @percent, @used, @included, @now)
ON CONFLICT (tenant_id, period_start, meter, percent) DO NOTHING;

-- name: ListUsageThresholds :many
-- @sqlc-vet-disable tenant
-- The reported thresholds of several tenants in periods that began since a time.
SELECT tenant_id, period_start, meter, percent FROM usage_thresholds
WHERE tenant_id = ANY (@tenant_ids::text[]) AND period_start >= @since::timestamptz;

-- name: DeleteUsageThresholdsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM usage_thresholds WHERE (tenant_id, period_start, meter, percent) IN (
    SELECT u.tenant_id, u.period_start, u.meter, u.percent FROM usage_thresholds u
    WHERE u.period_start < @before::timestamptz ORDER BY u.period_start LIMIT @max_rows);
