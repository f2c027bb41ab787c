-- name: GetTenantTier :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
SELECT plan FROM tenants WHERE id = @tenant_id;

-- name: ListAllowances :many
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. All plans' allowances, in a fixed order.
SELECT * FROM plan_allowances ORDER BY tier, meter;

-- name: DeleteAllowances :exec
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant.
DELETE FROM plan_allowances WHERE tier = @tier;

-- name: CreateAllowances :exec
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. A price or a number of units of -1 is stored as NULL.
INSERT INTO plan_allowances (tier, meter, included, overage, overage_price_cents, overage_units)
SELECT @tier, n.meter, n.included, n.overage, nullif(n.price, -1), nullif(n.units, -1)
FROM (SELECT unnest(@meters::text[]) AS meter, unnest(@included::bigint[]) AS included, unnest(@overages::text[]) AS overage,
    unnest(@prices::bigint[]) AS price, unnest(@units::bigint[]) AS units) n;
