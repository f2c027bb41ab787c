-- name: LockInvitationByEmail :one
SELECT * FROM invitations WHERE tenant_id = @tenant_id AND email = @email FOR UPDATE;

-- name: LockInvitation :one
SELECT * FROM invitations WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: PutInvitation :one
-- Inviting an address again keeps the id, and replaces the token, the role and, if one is given, the name.
INSERT INTO invitations (id, tenant_id, email, name, role, token_hash, expires_at, created_at, updated_at)
VALUES (@id, @tenant_id, @email, coalesce(sqlc.narg('name')::text, @default_name), @role, @token_hash, @expires_at, @now, @now)
ON CONFLICT (tenant_id, email) DO UPDATE SET
    name = coalesce(sqlc.narg('name')::text, invitations.name), role = excluded.role, token_hash = excluded.token_hash,
    expires_at = excluded.expires_at, updated_at = excluded.updated_at
RETURNING *;

-- name: GetInvitationByToken :one
-- @sqlc-vet-disable tenant
-- The request has only the token.
SELECT sqlc.embed(invitations), tenants.status AS tenant_status
FROM invitations JOIN tenants ON tenants.id = invitations.tenant_id
WHERE token_hash = @token_hash;

-- name: TakeInvitation :one
-- No row when it was accepted, replaced or withdrawn meanwhile.
DELETE FROM invitations WHERE tenant_id = @tenant_id AND token_hash = @token_hash RETURNING *;

-- name: SetInvitationRole :one
UPDATE invitations SET role = @role, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id RETURNING *;

-- name: DeleteInvitation :exec
DELETE FROM invitations WHERE tenant_id = @tenant_id AND id = @id;

-- name: DeleteInvitationsBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention of all tenants.
DELETE FROM invitations WHERE id = ANY (ARRAY(
    SELECT i.id FROM invitations i WHERE i.expires_at <= @before AND i.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY i.expires_at LIMIT @max_rows));

-- name: CountTeamMembers :one
-- Users, deactivated ones included, and open invitations.
SELECT count(*) FROM team_members
WHERE tenant_id = @tenant_id AND (invite_expires_at IS NULL OR invite_expires_at > @now::timestamptz);

-- name: ListTeamMembers :many
SELECT * FROM team_members
WHERE tenant_id = @tenant_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;
