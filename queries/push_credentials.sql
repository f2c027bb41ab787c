-- name: GetPushCredentials :one
SELECT * FROM push_credentials WHERE tenant_id = @tenant_id AND project_id = @project_id;

-- name: LockPushCredentials :one
SELECT * FROM push_credentials WHERE tenant_id = @tenant_id AND project_id = @project_id FOR UPDATE;

-- name: InsertPushCredentials :execrows
INSERT INTO push_credentials (id, tenant_id, project_id, created_at, updated_at)
VALUES (@id, @tenant_id, @project_id, @now, @now) ON CONFLICT (tenant_id, project_id) DO NOTHING;

-- name: CountPushCredentials :one
SELECT count(*) FROM push_credentials WHERE tenant_id = @tenant_id;

-- name: SetIosPushCredentials :one
UPDATE push_credentials SET ios_enabled = @enabled, ios_team_id = @team_id, ios_key_id = @key_id, ios_bundle_id = @bundle_id,
    ios_key = @key, ios_production = @production, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: SetCloudPushCredentials :one
UPDATE push_credentials SET cloud_enabled = @enabled, cloud_project_id = @cloud_project_id, cloud_account = @account, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: ListPushCredentialsToReseal :many
-- @sqlc-vet-disable tenant
-- The master key is the same for all tenants. Lists credentials that another master key encrypted.
SELECT * FROM push_credentials
WHERE id > @after AND (
    ios_key IS NOT NULL AND substring(ios_key FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea
    OR cloud_account IS NOT NULL AND substring(cloud_account FROM 1 FOR octet_length(@header::bytea)) <> @header::bytea)
ORDER BY id LIMIT @max_rows;

-- name: ResealPushCredentials :exec
-- @sqlc-vet-disable tenant
-- As ListPushCredentialsToReseal. Does nothing if a value was replaced meanwhile.
UPDATE push_credentials SET ios_key = @ios_key, cloud_account = @cloud_account
WHERE id = @id AND ios_key IS NOT DISTINCT FROM sqlc.narg('ios_key_before')::bytea
    AND cloud_account IS NOT DISTINCT FROM sqlc.narg('cloud_account_before')::bytea;

-- name: IsPushTenantSuspended :one
-- @sqlc-vet-disable tenant
-- The tenant's own row.
SELECT status = 'SUSPENDED' FROM tenants WHERE id = @id;
