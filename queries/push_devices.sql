-- name: RegisterPushDevice :one
-- made: the token is new in the tenant. Pushes wait for devices by id: a device of another user or project has another one.
INSERT INTO push_devices (tenant_id, project_id, user_id, platform, kind, token, token_hash, app_version, os_version, locale, registered_at, last_seen_at)
VALUES (@tenant_id, @project_id, @user_id, @platform, @kind, @token, @token_hash, @app_version, @os_version, @locale, @now, @now)
ON CONFLICT (tenant_id, token_hash) DO UPDATE SET
    id = CASE WHEN push_devices.user_id = excluded.user_id AND push_devices.project_id = excluded.project_id
        THEN push_devices.id ELSE excluded.id END,
    project_id = excluded.project_id, user_id = excluded.user_id, platform = excluded.platform,
    kind = excluded.kind, app_version = excluded.app_version, os_version = excluded.os_version, locale = excluded.locale,
    active = true, last_seen_at = excluded.last_seen_at
RETURNING sqlc.embed(push_devices), (xmax = 0)::boolean AS made;

-- name: DeactivatePushDevice :one
UPDATE push_devices SET active = false WHERE tenant_id = @tenant_id AND token_hash = @token_hash RETURNING *;

-- name: FindPushDevice :one
SELECT * FROM push_devices WHERE tenant_id = @tenant_id AND token_hash = @token_hash;

-- name: DeleteSurplusPushDevices :exec
-- Deletes a user's devices except the ones seen last.
DELETE FROM push_devices d WHERE d.tenant_id = @tenant_id AND d.id IN (
    SELECT s.id FROM push_devices s WHERE s.tenant_id = @tenant_id AND s.user_id = @user_id
    ORDER BY s.last_seen_at DESC, s.id DESC OFFSET @kept::integer);

-- name: CountPushDevices :one
-- @sqlc-vet-disable tenant
-- The number of a tenant's devices, as triggers count them.
SELECT coalesce(sum(n), 0)::bigint FROM row_numbers WHERE scope = 'push_devices' AND key = @tenant::text;

-- name: ListActivePushDevices :many
-- The devices of users that can be reached with the project's enabled credentials.
SELECT id FROM push_devices
WHERE tenant_id = @tenant_id AND user_id = ANY(@user_ids::text[]) AND project_id = @project_id AND active AND kind = 'alert'
    AND platform = ANY(@platforms::text[])
ORDER BY id;

-- name: ListPushDevicesOfUser :many
SELECT * FROM push_devices
WHERE tenant_id = @tenant_id AND user_id = @user_id AND project_id = @project_id AND active AND platform = ANY(@platforms::text[])
ORDER BY id LIMIT @max_rows;

-- name: ListPushDevices :many
SELECT * FROM push_devices WHERE tenant_id = @tenant_id AND id = ANY(@ids::bigint[]) AND active ORDER BY id;

-- name: DeactivateStalePushDevices :exec
-- A device that was registered again after the provider's date stays active.
UPDATE push_devices d SET active = false
FROM (SELECT unnest(@ids::bigint[]) AS id, unnest(@dates::timestamptz[]) AS since) s
WHERE d.tenant_id = @tenant_id AND d.id = s.id AND d.last_seen_at <= s.since;

-- name: DeletePushDevicesBefore :execrows
-- @sqlc-vet-disable tenant
-- The period is the same for all tenants.
DELETE FROM push_devices d WHERE d.id IN (
    SELECT o.id FROM push_devices o WHERE o.last_seen_at < @before
        AND o.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY o.last_seen_at LIMIT @max_rows FOR UPDATE SKIP LOCKED);
