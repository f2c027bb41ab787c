-- name: LockPlan :one
-- @sqlc-vet-disable tenant
-- The tenant's plan, once nobody else in a transaction of its own counts what the tenant has under this limit. Count in
-- a further statement, which sees what they have committed.
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('limit ' || @name::text || ' ' || @tenant_id::text, 0)))
SELECT sqlc.embed(p) FROM locked, tenants t JOIN plans p ON p.tier = t.plan WHERE t.id = @tenant_id;

-- name: ListPlans :many
-- @sqlc-vet-disable tenant
-- Plans are everybody's. The smallest tier first.
SELECT * FROM plans ORDER BY array_position(ARRAY['FREE', 'STARTER', 'PRO', 'ENTERPRISE'], tier);
