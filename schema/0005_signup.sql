-- +goose Up
-- Sign-up forms that wait for the mailed code; they belong to no tenant yet.
CREATE TABLE signup_forms (
    email         text PRIMARY KEY CHECK (email = lower(email)),
    -- New for every form: a code is valid for its form only.
    id            text NOT NULL,
    tenant_name   text NOT NULL,
    name          text NOT NULL,
    password_hash text NOT NULL,
    -- Keyed hash of the code. Null if the e-mail has an account: then no code is valid.
    code_hash     bytea,
    -- Id of the last resend request, so that it is carried out once.
    resend_id     text,
    expires_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX signup_forms_expires_idx ON signup_forms (expires_at);

-- Attempts per e-mail address, with or without a form, so that neither the answers
-- nor their timing reveal whether a form exists.
CREATE TABLE signup_tries (
    -- Keyed hash of the e-mail: most addresses belong to people without an account.
    email_hash  bytea PRIMARY KEY,
    wrong_codes integer NOT NULL DEFAULT 0,
    resent_at   timestamptz,
    touched_at  timestamptz NOT NULL
);
CREATE INDEX signup_tries_touched_idx ON signup_tries (touched_at);

-- Links mailed to users: one per user and purpose; a newer link replaces the
-- older one.
CREATE TABLE user_links (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('invite', 'reset')),
    -- SHA-256 of the token, which is random.
    token_hash bytea NOT NULL,
    -- Id of the request for the link, so that it is carried out once.
    request_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX user_links_user_key ON user_links (user_id, purpose);
CREATE UNIQUE INDEX user_links_token_key ON user_links (token_hash);
CREATE INDEX user_links_expires_idx ON user_links (expires_at);

-- Time until which an invitation can be accepted; null once the user has accepted.
ALTER TABLE users ADD COLUMN invite_expires_at timestamptz;
