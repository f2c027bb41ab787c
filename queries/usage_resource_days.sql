-- name: ListUsageOfResources :many
-- A tenant's sums by resource over whole days, in no order: sorting all rows by texts takes most of the time.
SELECT resource_id, meter, sum(amount)::bigint AS amount FROM usage_resource_days
WHERE tenant_id = @tenant_id AND meter = ANY (@meters::text[]) AND day >= @since::timestamptz AND day < @until::timestamptz
GROUP BY resource_id, meter LIMIT @max_rows;

-- name: DeleteUsageResourceDaysBefore :execrows
-- @sqlc-vet-disable tenant
-- Covers all tenants, the oldest first.
DELETE FROM usage_resource_days WHERE ctid = ANY (ARRAY(
    SELECT d.ctid FROM usage_resource_days d WHERE d.day < @before::timestamptz
        AND d.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY d.day LIMIT @max_rows));
