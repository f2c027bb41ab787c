-- name: IsAppNameTaken :one
-- @sqlc-vet-disable tenant
-- Apps belong to the platform.
SELECT EXISTS (SELECT 1 FROM first_party_apps a JOIN tenants t ON t.id = a.tenant_id WHERE lower(t.name) = lower(@name))::boolean;

-- name: CreateFirstPartyApp :exec
INSERT INTO first_party_apps (tenant_id, description, created_by, created_at, updated_at)
VALUES (@tenant_id, sqlc.narg('description'), @created_by, @now, @now);

-- name: CountFirstPartyApps :one
-- @sqlc-vet-disable tenant
-- Apps belong to the platform. There are few.
SELECT count(*) FROM first_party_apps;

-- name: ListFirstPartyApps :many
-- @sqlc-vet-disable tenant
-- Newest first. last_used_at is 1970 for never.
SELECT a.tenant_id, t.name, a.description, t.status, a.created_by, a.created_at, t.updated_at,
    (SELECT count(*) FROM api_keys k WHERE k.tenant_id = a.tenant_id AND k.revoked_at IS NULL
        AND coalesce(k.expires_at, 'infinity'::timestamptz) > @now::timestamptz) AS key_count,
    coalesce((SELECT max(k.last_used_at) FROM api_keys k WHERE k.tenant_id = a.tenant_id), 'epoch')::timestamptz AS last_used_at
FROM first_party_apps a JOIN tenants t ON t.id = a.tenant_id
WHERE sqlc.narg('tenant_id')::text IS NULL OR a.tenant_id = sqlc.narg('tenant_id')::text
ORDER BY a.created_at DESC, a.tenant_id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: GetAppStats :one
-- The counts of one tenant, each along an index.
SELECT (SELECT coalesce(sum(c.n), 0) FROM row_numbers c WHERE c.scope = 'team' AND c.key = @tenant_id::text)::bigint AS users,
    (SELECT coalesce(sum(c.n), 0) FROM row_numbers c WHERE c.scope = 'streams' AND c.key = @tenant_id::text)::bigint AS streams,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = @tenant_id AND s.status IN ('LIVE', 'RECONNECTING')) AS live_streams,
    (SELECT count(*) FROM sessions s WHERE s.tenant_id = @tenant_id) AS sessions,
    (SELECT count(*) FROM sessions s WHERE s.tenant_id = @tenant_id AND s.state IN ('waiting', 'live') AND s.state = 'live') AS live_sessions,
    (SELECT count(*) FROM recordings r WHERE r.tenant_id = @tenant_id AND r.status = 'READY') AS recordings;

-- name: ListAppWebhooks :many
-- The newest endpoints of one tenant, with the deliveries since an id; max_count at most are counted. last_success_at is the latest of
-- the newest 20 deliveries that arrived, 1970 for none.
SELECT sqlc.embed(w),
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id AND d.id >= @first_id LIMIT @max_count) n) AS deliveries,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries d
        WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END IN ('retrying', 'failed')
          AND d.id COLLATE "C" >= @first_id LIMIT @max_count) n) AS failed,
    coalesce((SELECT max(n.delivered_at) FROM (SELECT d.delivered_at FROM webhook_deliveries d
        WHERE d.endpoint_id = w.id AND CASE WHEN d.retry_at IS NULL THEN d.status ELSE 'retrying' END = 'delivered'
        ORDER BY d.id COLLATE "C" DESC LIMIT 20) n), 'epoch')::timestamptz AS last_success_at
FROM webhook_endpoints w WHERE w.tenant_id = @tenant_id AND w.deleted_at IS NULL ORDER BY w.id DESC LIMIT @max_rows;
