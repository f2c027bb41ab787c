-- name: CreateAuditEntry :exec
INSERT INTO audit_entries (id, at, actor_type, actor_id, impersonator_id, impersonation_id, tenant_id, action, entity, entity_id, reason, ip,
    request_id, before, after)
VALUES (@id, @at, @actor_type, @actor_id, @impersonator_id, @impersonation_id, @tenant_id, @action, @entity, @entity_id, @reason, @ip,
    @request_id, @before, @after);

-- name: ListAuditEntries :many
SELECT * FROM audit_entries
WHERE tenant_id = @tenant_id::text AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: CountAuditOfActor :one
-- @sqlc-vet-disable tenant
-- For the platform's operators. Counts the entries of an actor, and those of an admin who acted in its name: each along an index, and
-- at most a number of them together.
SELECT least(@most::bigint, (SELECT count(*) FROM (SELECT FROM audit_entries e WHERE e.actor_id = @actor
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
      AND (sqlc.narg('from_at')::timestamptz IS NULL OR e.at >= sqlc.narg('from_at'))
      AND (sqlc.narg('to_at')::timestamptz IS NULL OR e.at < sqlc.narg('to_at'))
      ORDER BY e.at DESC, e.id DESC LIMIT @most::bigint) own
  ) + (SELECT count(*) FROM (SELECT FROM audit_entries e WHERE e.impersonator_id = @actor AND e.actor_id <> @actor
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
      AND (sqlc.narg('from_at')::timestamptz IS NULL OR e.at >= sqlc.narg('from_at'))
      AND (sqlc.narg('to_at')::timestamptz IS NULL OR e.at < sqlc.narg('to_at'))
      ORDER BY e.at DESC, e.id DESC LIMIT @most::bigint) impersonated
  ))::bigint;

-- name: ListAuditOfActor :many
-- @sqlc-vet-disable tenant
-- As CountAuditOfActor. Each part reads the entries until the end of the page along its index, and no others: page_end is
-- skip + max_rows.
WITH own AS (
    SELECT e.id, e.at FROM audit_entries e WHERE e.actor_id = @actor
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
      AND (sqlc.narg('from_at')::timestamptz IS NULL OR e.at >= sqlc.narg('from_at'))
      AND (sqlc.narg('to_at')::timestamptz IS NULL OR e.at < sqlc.narg('to_at'))
    ORDER BY e.at DESC, e.id DESC LIMIT @page_end::bigint
), impersonated AS (
    SELECT e.id, e.at FROM audit_entries e WHERE e.impersonator_id = @actor AND e.actor_id <> @actor
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
      AND (sqlc.narg('from_at')::timestamptz IS NULL OR e.at >= sqlc.narg('from_at'))
      AND (sqlc.narg('to_at')::timestamptz IS NULL OR e.at < sqlc.narg('to_at'))
    ORDER BY e.at DESC, e.id DESC LIMIT @page_end::bigint
), page AS MATERIALIZED (
    SELECT f.id FROM (SELECT own.id, own.at FROM own UNION ALL SELECT i.id, i.at FROM impersonated i) f
    ORDER BY f.at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT e.* FROM page JOIN audit_entries e ON e.id = page.id ORDER BY e.at DESC, e.id DESC;

-- name: CountPlatformAuditByDay :one
-- @sqlc-vet-disable tenant
-- For the platform's operators. Counts from the sums of the days in [first_day, last_day), and from the entries that are not in them.
-- Entries whose entity_id is the given entity are not counted by day.
WITH closed AS (
    SELECT greatest(@first_day::timestamptz, least(u.until, @last_day::timestamptz)) AS until FROM summed_until u WHERE u.name = 'audit'
)
SELECT ((SELECT coalesce(sum(e.entries), 0) FROM audit_days e
    WHERE e.tenant_id = sqlc.narg('tenant_id')::text AND e.day >= @first_day::timestamptz AND e.day < (SELECT c.until FROM closed c)
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity'))
  ) + (SELECT coalesce(sum(e.entries), 0) FROM audit_platform_days e
    WHERE sqlc.narg('tenant_id')::text IS NULL AND e.day >= @first_day::timestamptz AND e.day < (SELECT c.until FROM closed c)
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity'))
  ) + (SELECT count(*) FROM audit_entries e
    WHERE e.at >= @from_at::timestamptz AND e.at < least(@first_day::timestamptz, @to_at::timestamptz)
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
  ) + (SELECT count(*) FROM audit_entries e
    WHERE e.at >= (SELECT c.until FROM closed c) AND e.at < @to_at::timestamptz
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
  ) + (SELECT count(*) FROM audit_entries e
    WHERE e.entity_id = sqlc.narg('entity') AND e.entity <> sqlc.narg('entity')
      AND e.at >= @first_day::timestamptz AND e.at < (SELECT c.until FROM closed c)
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
  ))::bigint;

-- name: SkipAuditDays :one
-- @sqlc-vet-disable tenant
-- The oldest summed day all of whose entries come before the page, newest first, and the number of entries until its end. The page
-- can be read from the day's start on. No row: the page begins in the newest of these days or before it.
WITH closed AS (
    SELECT greatest(@first_day::timestamptz, least(u.until, @last_day::timestamptz)) AS until FROM summed_until u WHERE u.name = 'audit'
), newest AS (
    SELECT count(*) AS entries FROM audit_entries e WHERE e.at >= (SELECT c.until FROM closed c) AND e.at < @to_at::timestamptz
      AND (sqlc.narg('tenant_id')::text IS NULL OR e.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
), summed AS (
    SELECT e.day, e.entries FROM audit_days e
    WHERE e.tenant_id = sqlc.narg('tenant_id')::text AND e.day >= @first_day::timestamptz AND e.day < (SELECT c.until FROM closed c)
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
    UNION ALL
    SELECT e.day, e.entries FROM audit_platform_days e
    WHERE sqlc.narg('tenant_id')::text IS NULL AND e.day >= @first_day::timestamptz AND e.day < (SELECT c.until FROM closed c)
      AND (sqlc.narg('actor_type')::text IS NULL OR e.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
), days AS (
    SELECT s.day, sum(sum(s.entries)) OVER (ORDER BY s.day DESC) AS entries FROM summed s GROUP BY s.day
)
SELECT d.day, (d.entries + n.entries)::bigint AS entries FROM days d CROSS JOIN newest n
WHERE d.entries + n.entries <= @skip::bigint ORDER BY d.day LIMIT 1;

-- name: ListPlatformAudit :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Finds the page before it reads rows: without a filter, or with one, an index is enough.
WITH page AS MATERIALIZED (
    SELECT f.id FROM audit_entries f
    WHERE (sqlc.narg('tenant_id')::text IS NULL OR f.tenant_id = sqlc.narg('tenant_id'))
      AND (sqlc.narg('actor_type')::text IS NULL OR f.actor_type = sqlc.narg('actor_type'))
      AND (sqlc.narg('action')::text IS NULL OR f.action = sqlc.narg('action'))
      AND (sqlc.narg('action_like')::text IS NULL OR f.action LIKE sqlc.narg('action_like'))
      AND (sqlc.narg('entity')::text IS NULL OR f.entity = sqlc.narg('entity') OR f.entity_id = sqlc.narg('entity'))
      AND (sqlc.narg('from_at')::timestamptz IS NULL OR f.at >= sqlc.narg('from_at'))
      AND (sqlc.narg('to_at')::timestamptz IS NULL OR f.at < sqlc.narg('to_at'))
    ORDER BY f.at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT e.* FROM page JOIN audit_entries e ON e.id = page.id ORDER BY e.at DESC, e.id DESC;

-- name: AllowAuditRetention :exec
-- @sqlc-vet-disable tenant
-- Allows this transaction to delete entries.
SELECT set_config('showfloor.audit_retention', 'on', true);

-- name: DeleteAuditEntriesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants. Deletes the oldest entries, max_rows at most. Ids follow the time, so the primary key finds them.
DELETE FROM audit_entries WHERE id = ANY (ARRAY(
    SELECT e.id FROM audit_entries e WHERE e.id < @before_id AND e.at < @before
        AND coalesce(e.tenant_id, '') <> ALL (ARRAY(SELECT held_tenants())) ORDER BY e.id LIMIT @max_rows));

-- name: FindFirstAuditEntry :one
-- @sqlc-vet-disable tenant
-- The time of the first entry at or after a time; the last time if there is none before it.
SELECT least((SELECT min(e.at) FROM audit_entries e WHERE e.at >= @since::timestamptz), @until::timestamptz)::timestamptz AS at;

-- name: WriteAuditDays :exec
-- @sqlc-vet-disable tenant
-- Counts the entries of all tenants in a part of a day, and adds them to those of the parts before.
INSERT INTO audit_days (day, tenant_id, actor_type, action, entity, entries)
SELECT date_trunc('day', e.at, 'UTC'), coalesce(e.tenant_id, ''), e.actor_type, e.action, e.entity, count(*)
FROM audit_entries e WHERE e.at >= @since::timestamptz AND e.at < @until::timestamptz GROUP BY 1, 2, 3, 4, 5
ON CONFLICT (tenant_id, day, actor_type, action, entity) DO UPDATE SET entries = audit_days.entries + excluded.entries;

-- name: ListAuditOfEntity :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. The latest entries of one entity.
SELECT * FROM audit_entries WHERE entity_id = @entity_id ORDER BY at DESC, id DESC LIMIT @max_rows;

-- name: FindAuditBoundary :one
-- The id of the entry that is skip entries before a cursor, newest first.
SELECT id FROM audit_entries WHERE tenant_id = @tenant_id::text AND id < @before_id ORDER BY id DESC LIMIT 1 OFFSET @skip;

-- name: ListTenantAudit :many
-- The tenant's own view: an admin is found by its type only. Reads the ids in [first_id, before_id).
SELECT * FROM audit_entries e
WHERE e.tenant_id = @tenant_id::text AND e.id >= @first_id AND e.id < @before_id
  AND (sqlc.narg('actor')::text IS NULL OR e.actor_type = sqlc.narg('actor') OR e.actor_id = sqlc.narg('actor') AND e.actor_type <> 'admin')
  AND (sqlc.narg('action')::text IS NULL OR e.action = sqlc.narg('action'))
  AND (sqlc.narg('action_like')::text IS NULL OR e.action LIKE sqlc.narg('action_like'))
  AND (sqlc.narg('entity')::text IS NULL OR e.entity = sqlc.narg('entity') OR e.entity_id = sqlc.narg('entity'))
  AND (sqlc.narg('from_at')::timestamptz IS NULL OR e.at >= sqlc.narg('from_at'))
  AND (sqlc.narg('to_at')::timestamptz IS NULL OR e.at < sqlc.narg('to_at'))
ORDER BY e.id DESC LIMIT @max_rows;
