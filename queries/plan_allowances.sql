-- name: GetTenantTier :one
-- @sqlc-vet-disable tenant
-- The id is the tenant.
SELECT plan FROM tenants WHERE id = @tenant_id;

-- name: ListPlanAllowances :many
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant.
SELECT tier, meter, included FROM plan_allowances;
