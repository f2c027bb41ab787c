-- name: AddAPICalls :exec
-- Adds counts of calls. The arrays have one element for each row, sorted by tenant, day and operation, so that servers take the rows'
-- locks in one order. took is the text of an array, '' for none.
INSERT INTO api_call_days AS d (tenant_id, day, operation, calls, client_errors, server_errors, took, last_at)
SELECT unnest(@tenant_ids::text[]), unnest(@days::timestamptz[]), unnest(@operations::text[]), unnest(@calls::bigint[]),
    unnest(@client_errors::bigint[]), unnest(@server_errors::bigint[]), nullif(unnest(@took::text[]), '')::bigint[], unnest(@last_ats::timestamptz[])
ON CONFLICT (tenant_id, day, operation) DO UPDATE SET calls = d.calls + excluded.calls, client_errors = d.client_errors + excluded.client_errors,
    server_errors = d.server_errors + excluded.server_errors, last_at = greatest(d.last_at, excluded.last_at),
    took = add_counts(d.took, excluded.took);

-- name: SumCallsOfTenants :many
-- @sqlc-vet-disable tenant
-- The ids are the tenants.
SELECT c.tenant_id, sum(c.calls)::bigint AS calls, max(c.last_at)::timestamptz AS last_at FROM api_call_days c
WHERE c.tenant_id = ANY (@tenant_ids::text[]) AND c.operation = '' AND c.day >= @since::timestamptz GROUP BY 1;

-- name: SumCallsByDay :many
-- @sqlc-vet-disable tenant
-- The calls of all tenants by day, for operators.
SELECT c.day, sum(c.calls)::bigint AS calls, sum(c.client_errors)::bigint AS client_errors, sum(c.server_errors)::bigint AS server_errors,
    count(*) AS tenants
FROM api_call_days c WHERE c.operation = '' AND c.day >= @since::timestamptz GROUP BY 1 ORDER BY 1;

-- name: SumCallsByOperation :many
-- @sqlc-vet-disable tenant
-- The operations with the most calls of all tenants, for operators.
SELECT c.operation, sum(c.calls)::bigint AS calls, sum(c.client_errors)::bigint AS client_errors, sum(c.server_errors)::bigint AS server_errors
FROM api_call_days c WHERE c.tenant_id = '' AND c.day >= @since::timestamptz GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT @max_rows;

-- name: ListTimesOfOperations :many
-- @sqlc-vet-disable tenant
-- The answer times of operations by day, for operators.
SELECT c.operation, c.took::bigint[] AS took FROM api_call_days c
WHERE c.tenant_id = '' AND c.day >= @since::timestamptz AND c.operation = ANY (@operations::text[]) AND c.took IS NOT NULL;

-- name: SumCallsByTenant :many
-- @sqlc-vet-disable tenant
-- The tenants with the most calls, with the number of all tenants that called, for operators.
SELECT c.tenant_id, sum(c.calls)::bigint AS calls, sum(c.client_errors)::bigint AS client_errors, max(c.last_at)::timestamptz AS last_at,
    count(*) OVER () AS tenants
FROM api_call_days c WHERE c.operation = '' AND c.day >= @since::timestamptz GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT @max_rows;

-- name: ListCallingTenants :many
-- @sqlc-vet-disable tenant
-- The tenants with a call since a time, for operators.
SELECT DISTINCT c.tenant_id FROM api_call_days c WHERE c.operation = '' AND c.day >= @day::timestamptz AND c.last_at >= @since::timestamptz;

-- name: DeleteAPICallsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM api_call_days WHERE ctid = ANY (ARRAY(
    SELECT c.ctid FROM api_call_days c WHERE c.day < @before::timestamptz ORDER BY c.day LIMIT @max_rows));
