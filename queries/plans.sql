-- name: LockPlan :one
-- @sqlc-vet-disable tenant
-- Waits until no other transaction counts the tenant's objects under this limit, then returns the tenant's plan. Count in
-- a further statement, which sees the rows that those transactions have committed.
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('limit ' || @name::text || ' ' || @tenant_id::text, 0)))
SELECT sqlc.embed(p) FROM locked, tenants t JOIN plans p ON p.tier = t.plan WHERE t.id = @tenant_id;

-- name: ListPlans :many
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. The smallest tier first.
SELECT * FROM plans ORDER BY array_position(ARRAY['FREE', 'STARTER', 'PRO', 'ENTERPRISE'], tier);

-- name: GetTenantPlan :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
SELECT sqlc.embed(p) FROM tenants t JOIN plans p ON p.tier = t.plan WHERE t.id = @tenant_id;

-- name: TakeProcessorCall :one
-- Counts a call in this minute of the database's clock; no row if the limit is reached.
INSERT INTO processor_calls (tenant_id, minute, calls) VALUES (@tenant_id, date_trunc('minute', now()), 1)
ON CONFLICT (tenant_id) DO UPDATE SET minute = excluded.minute,
    calls = CASE WHEN processor_calls.minute = excluded.minute THEN processor_calls.calls + 1 ELSE 1 END
WHERE processor_calls.minute <> excluded.minute OR processor_calls.calls < @most::integer
RETURNING calls;

-- name: KeepPlanProduct :one
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. Keeps the first product.
UPDATE plans SET processor_product_id = coalesce(processor_product_id, @processor_product_id) WHERE tier = @tier RETURNING processor_product_id::text;
