-- name: CreateAuditEntry :exec
INSERT INTO audit_entries (id, at, actor_type, actor_id, impersonator_id, tenant_id, action, entity, entity_id, reason, ip, request_id, before, after)
VALUES (@id, @at, @actor_type, @actor_id, @impersonator_id, @tenant_id, @action, @entity, @entity_id, @reason, @ip, @request_id, @before, @after);

-- name: ListAuditEntries :many
SELECT * FROM audit_entries
WHERE tenant_id = @tenant_id::text AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: CountPlatformAudit :one
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT count(*) FROM audit_entries
WHERE (sqlc.narg('tenant_id')::text IS NULL OR tenant_id = sqlc.narg('tenant_id'))
  AND (sqlc.narg('actor')::text IS NULL OR actor_id = sqlc.narg('actor') OR impersonator_id = sqlc.narg('actor'))
  AND (sqlc.narg('actor_type')::text IS NULL OR actor_type = sqlc.narg('actor_type'))
  AND (sqlc.narg('action')::text IS NULL OR action = sqlc.narg('action'))
  AND (sqlc.narg('action_like')::text IS NULL OR action LIKE sqlc.narg('action_like'))
  AND (sqlc.narg('entity')::text IS NULL OR entity = sqlc.narg('entity') OR entity_id = sqlc.narg('entity'))
  AND (sqlc.narg('from_at')::timestamptz IS NULL OR at >= sqlc.narg('from_at'))
  AND (sqlc.narg('to_at')::timestamptz IS NULL OR at < sqlc.narg('to_at'));

-- name: ListPlatformAudit :many
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT * FROM audit_entries
WHERE (sqlc.narg('tenant_id')::text IS NULL OR tenant_id = sqlc.narg('tenant_id'))
  AND (sqlc.narg('actor')::text IS NULL OR actor_id = sqlc.narg('actor') OR impersonator_id = sqlc.narg('actor'))
  AND (sqlc.narg('actor_type')::text IS NULL OR actor_type = sqlc.narg('actor_type'))
  AND (sqlc.narg('action')::text IS NULL OR action = sqlc.narg('action'))
  AND (sqlc.narg('action_like')::text IS NULL OR action LIKE sqlc.narg('action_like'))
  AND (sqlc.narg('entity')::text IS NULL OR entity = sqlc.narg('entity') OR entity_id = sqlc.narg('entity'))
  AND (sqlc.narg('from_at')::timestamptz IS NULL OR at >= sqlc.narg('from_at'))
  AND (sqlc.narg('to_at')::timestamptz IS NULL OR at < sqlc.narg('to_at'))
ORDER BY at DESC, id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: AllowAuditRetention :exec
-- @sqlc-vet-disable tenant
-- Allows this transaction to delete entries.
SELECT set_config('showfloor.audit_retention', 'on', true);

-- name: DeleteAuditEntriesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes the oldest entries, max_rows at most. Ids follow the time, so the primary key finds them.
DELETE FROM audit_entries WHERE id = ANY (ARRAY(
    SELECT e.id FROM audit_entries e WHERE e.id < @before_id AND e.at < @before ORDER BY e.id LIMIT @max_rows));
