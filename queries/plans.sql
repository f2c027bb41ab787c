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

-- name: GetPlan :one
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant.
SELECT * FROM plans WHERE id = @id;

-- name: LockPlanByID :one
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. Transactions that write a row of a tenant can refer to the plan meanwhile.
SELECT * FROM plans WHERE id = @id FOR NO KEY UPDATE;

-- name: SavePlan :one
-- @sqlc-vet-disable tenant
-- Plans belong to no tenant. Writes all columns that an admin can change.
UPDATE plans SET name = @name, description = @description, price_cents = @price_cents, yearly_price_cents = sqlc.narg('yearly_price_cents'),
    trial_days = @trial_days, active = @active, max_users = sqlc.narg('max_users'), max_api_keys = sqlc.narg('max_api_keys'),
    max_live_streams = sqlc.narg('max_live_streams'), max_viewers = sqlc.narg('max_viewers'),
    max_session_capacity = sqlc.narg('max_session_capacity'), max_webhook_endpoints = sqlc.narg('max_webhook_endpoints'),
    max_restream_targets = sqlc.narg('max_restream_targets'), recording_retention_days = sqlc.narg('recording_retention_days'),
    max_capture_bytes = sqlc.narg('max_capture_bytes'), max_processor_calls = sqlc.narg('max_processor_calls'),
    max_written_bytes = sqlc.narg('max_written_bytes'), updated_at = @now
WHERE id = @id RETURNING *;

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

-- name: CountLimited :one
-- Counts a tenant's limited things. Routes and participants are those of the stream, or open session, with the most.
SELECT
    (SELECT count(*) FROM team_members m WHERE m.tenant_id = @tenant_id AND (m.invite_expires_at IS NULL OR m.invite_expires_at > @now::timestamptz)) AS users,
    (SELECT count(*) FROM api_keys k WHERE k.tenant_id = @tenant_id AND k.revoked_at IS NULL
        AND coalesce(k.expires_at, 'infinity'::timestamptz) > @now::timestamptz) AS api_keys,
    (SELECT count(*) FROM streams s WHERE s.tenant_id = @tenant_id
        AND (s.status IN ('LIVE', 'RECONNECTING') OR s.publisher_id IS NOT NULL)) AS live_streams,
    (SELECT count(*) FROM webhook_endpoints w WHERE w.tenant_id = @tenant_id AND w.deleted_at IS NULL) AS webhook_endpoints,
    (SELECT coalesce(max(r.n), 0) FROM (SELECT count(*) AS n FROM restream_routes
        WHERE tenant_id = @tenant_id AND status IN ('pending', 'live') GROUP BY stream_id) r)::bigint AS restream_targets,
    (SELECT coalesce(max(c.capacity), 0) FROM sessions c WHERE c.tenant_id = @tenant_id AND c.state IN ('waiting', 'live'))::bigint AS session_capacity;
