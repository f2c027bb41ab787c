-- name: CreateAuditEntry :exec
INSERT INTO audit_entries (id, at, actor_type, actor_id, impersonator_id, tenant_id, action, entity, entity_id, reason, ip, request_id, before, after)
VALUES (@id, @at, @actor_type, @actor_id, @impersonator_id, @tenant_id, @action, @entity, @entity_id, @reason, @ip, @request_id, @before, @after);

-- name: ListAuditEntries :many
SELECT * FROM audit_entries
WHERE tenant_id = @tenant_id::text AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;
