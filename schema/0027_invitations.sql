-- +goose Up
-- Invitations to a tenant's team. An invitation is not a user: it reserves no e-mail
-- address, and any number of tenants may invite the same address. The address is taken
-- when an invitation is accepted.
CREATE TABLE invitations (
    -- The id that the user gets on accepting.
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    email      text NOT NULL CHECK (email = lower(email)),
    name       text NOT NULL,
    role       text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER')),
    -- SHA-256 of the mailed token, which is random.
    token_hash bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX invitations_email_key ON invitations (tenant_id, email);
CREATE UNIQUE INDEX invitations_token_key ON invitations (token_hash);
CREATE INDEX invitations_tenant_idx ON invitations (tenant_id, id DESC);
CREATE INDEX invitations_created_idx ON invitations (created_at DESC, id DESC);
CREATE INDEX invitations_expires_idx ON invitations (expires_at);

INSERT INTO invitations (id, tenant_id, email, name, role, token_hash, expires_at, created_at, updated_at)
SELECT u.id, u.tenant_id, u.email, u.name, u.role, l.token_hash, u.invite_expires_at, u.created_at, u.updated_at
FROM users u JOIN user_links l ON l.user_id = u.id AND l.purpose = 'invite' AND l.used_at IS NULL
WHERE u.status = 'INVITED' AND u.invite_expires_at > now();
DELETE FROM users WHERE status = 'INVITED'; -- their links go with them
DELETE FROM user_links WHERE purpose = 'invite';

ALTER TABLE users DROP COLUMN invite_expires_at, DROP CONSTRAINT users_status_check,
    ADD CONSTRAINT users_status_check CHECK (status IN ('ACTIVE', 'DEACTIVATED'));

-- Only links to set a new password are left: one per user.
DROP INDEX user_links_user_key;
ALTER TABLE user_links DROP COLUMN purpose;
ALTER TABLE user_links RENAME TO password_links;
ALTER INDEX user_links_pkey RENAME TO password_links_pkey;
ALTER INDEX user_links_token_key RENAME TO password_links_token_key;
ALTER INDEX user_links_expires_idx RENAME TO password_links_expires_idx;
CREATE UNIQUE INDEX password_links_user_key ON password_links (user_id);

-- Users, and invitations that can be accepted, as team and admin lists show them.
CREATE VIEW team_members AS
SELECT id, tenant_id, email, name, role, status, NULL::timestamptz AS invite_expires_at, last_login_at, created_at, updated_at
FROM users
UNION ALL
SELECT id, tenant_id, email, name, role, 'INVITED'::text, expires_at, NULL::timestamptz, created_at, updated_at
FROM invitations;
