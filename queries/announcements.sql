-- name: CreateAnnouncement :one
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
INSERT INTO announcements (id, title, body, severity, audience, send_mail, expires_at, created_by, created_at, updated_at)
VALUES (@id, @title, @body, @severity, @audience, @send_mail, @expires_at, @created_by, @now, @now) RETURNING *;

-- name: GetAnnouncement :one
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
SELECT * FROM announcements WHERE id = @id;

-- name: LockAnnouncement :one
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
SELECT * FROM announcements WHERE id = @id FOR UPDATE;

-- name: SaveAnnouncement :one
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
UPDATE announcements SET title = @title, body = @body, severity = @severity, status = @status, audience = @audience, send_mail = @send_mail,
    published_at = @published_at, expires_at = @expires_at, archived_at = @archived_at, updated_at = @updated_at
WHERE id = @id RETURNING *;

-- name: DeleteAnnouncement :exec
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
DELETE FROM announcements WHERE id = @id;

-- name: CountAnnouncements :one
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform, which has at most some thousands.
SELECT count(*) FROM announcements;

-- name: ListAnnouncements :many
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
SELECT * FROM announcements ORDER BY created_at DESC, id DESC LIMIT @max_rows OFFSET @skip::bigint;

-- name: ListAnnouncementsFor :many
-- The published announcements of a user's plan that the user has not dismissed, newest first.
SELECT a.* FROM announcements a
WHERE a.status = 'PUBLISHED' AND (a.expires_at IS NULL OR a.expires_at > @now::timestamptz)
  AND (cardinality(a.audience) = 0 OR @plan::text = ANY (a.audience))
  AND NOT EXISTS (SELECT FROM announcement_dismissals d
      WHERE d.tenant_id = @tenant_id AND d.user_id = @user_id AND d.announcement_id = a.id)
ORDER BY a.published_at DESC, a.id DESC LIMIT @max_rows;

-- name: DismissAnnouncement :exec
INSERT INTO announcement_dismissals (user_id, announcement_id, tenant_id, created_at)
VALUES (@user_id, @announcement_id, @tenant_id, @now) ON CONFLICT DO NOTHING;

-- name: ListTenantsToMail :many
-- @sqlc-vet-disable tenant
-- The next tenants of an announcement's audience, by id.
SELECT t.id FROM tenants t
WHERE t.id > @after::text AND t.created_at <= @published_at::timestamptz AND t.status NOT IN ('SUSPENDED', 'CANCELLED')
  AND (cardinality(@audience::text[]) = 0 OR t.plan = ANY (@audience::text[]))
ORDER BY t.id LIMIT @max_rows;

-- name: SetAnnouncementMailed :exec
-- @sqlc-vet-disable tenant
-- Announcements belong to the platform.
UPDATE announcements SET mailed_until = @mailed_until::text WHERE id = @id;
