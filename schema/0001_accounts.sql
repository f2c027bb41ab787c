-- +goose Up
-- Ids are type-prefixed UUIDv7 in base32: they sort by creation, so they page too.

CREATE TABLE tenants (
    id              text PRIMARY KEY,
    name            text NOT NULL,
    status          text NOT NULL DEFAULT 'TRIAL' CHECK (status IN ('TRIAL', 'ACTIVE', 'PAST_DUE', 'SUSPENDED', 'CANCELLED')),
    plan            text NOT NULL DEFAULT 'FREE' CHECK (plan IN ('FREE', 'STARTER', 'PRO', 'ENTERPRISE')),
    charges_enabled boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);

CREATE TABLE users (
    id            text PRIMARY KEY,
    tenant_id     text NOT NULL REFERENCES tenants (id),
    email         text NOT NULL CHECK (email = lower(email)),
    name          text NOT NULL,
    password_hash text NOT NULL,
    role          text NOT NULL CHECK (role IN ('OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER')),
    status        text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('INVITED', 'ACTIVE', 'DEACTIVATED')),
    -- Tokens contain the version at which they were issued; raising it ends all earlier tokens.
    token_version integer NOT NULL DEFAULT 1,
    last_login_at timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email_key ON users (email);
CREATE INDEX users_tenant_idx ON users (tenant_id, id DESC);

-- Admins of the platform; they belong to no tenant.
CREATE TABLE admins (
    id            text PRIMARY KEY,
    email         text NOT NULL CHECK (email = lower(email)),
    password_hash text NOT NULL,
    role          text NOT NULL CHECK (role IN ('SUPER_ADMIN', 'SUPPORT', 'BILLING')),
    token_version integer NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL
);
CREATE UNIQUE INDEX admins_email_key ON admins (email);

CREATE TABLE api_keys (
    id           text PRIMARY KEY,
    tenant_id    text NOT NULL REFERENCES tenants (id),
    name         text NOT NULL,
    -- SHA-256 of the whole key. A key is random, so nothing slower is needed.
    key_hash     bytea NOT NULL,
    -- The key that created this one; this one ends together with it.
    parent_id    text REFERENCES api_keys (id),
    prefix       text NOT NULL,
    last4        text NOT NULL,
    scopes       text[] NOT NULL,
    expires_at   timestamptz,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    created_at   timestamptz NOT NULL
);
CREATE INDEX api_keys_parent_idx ON api_keys (parent_id) WHERE parent_id IS NOT NULL;
CREATE UNIQUE INDEX api_keys_hash_key ON api_keys (key_hash);
CREATE INDEX api_keys_tenant_idx ON api_keys (tenant_id, id DESC);

-- The keys that sign our JWTs; the newest signs, all that aren't retired verify.
CREATE TABLE signing_keys (
    id          text PRIMARY KEY,
    -- Ed25519 seed, encrypted with the master key.
    private_key bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    retired_at  timestamptz
);

-- Audit log: actor, action and target. Append-only, written in the transaction of the change.
CREATE TABLE audit_entries (
    id              text PRIMARY KEY,
    at              timestamptz NOT NULL,
    actor_type      text NOT NULL CHECK (actor_type IN ('user', 'api_key', 'admin', 'system')),
    actor_id        text NOT NULL,
    impersonator_id text,
    tenant_id       text,
    action          text NOT NULL,
    entity          text NOT NULL,
    entity_id       text NOT NULL,
    reason          text,
    ip              text,
    request_id      text,
    before          jsonb,
    after           jsonb
);
CREATE INDEX audit_entries_tenant_idx ON audit_entries (tenant_id, id DESC);
CREATE RULE audit_entries_no_update AS ON UPDATE TO audit_entries DO INSTEAD NOTHING;
CREATE RULE audit_entries_no_delete AS ON DELETE TO audit_entries DO INSTEAD NOTHING;
