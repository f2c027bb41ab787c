-- +goose Up
-- Sign-up forms that wait for the code that was mailed; none belongs to a tenant.
CREATE TABLE signup_forms (
    email         text PRIMARY KEY CHECK (email = lower(email)),
    -- Fresh for every form: a code counts for its form alone.
    id            text NOT NULL,
    tenant_name   text NOT NULL,
    name          text NOT NULL,
    password_hash text NOT NULL,
    -- Keyed hash of the code. Null when the e-mail was taken: then no code will do.
    code_hash     bytea,
    -- The request that had the code mailed again, so that it is answered once.
    resend_id     text,
    expires_at    timestamptz NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX signup_forms_expires_idx ON signup_forms (expires_at);

-- What was tried with an e-mail, whether a form waits for it or not: so that
-- neither answers nor their time tell.
CREATE TABLE signup_tries (
    -- Keyed hash of the e-mail: most are strangers'.
    email_hash  bytea PRIMARY KEY,
    wrong_codes integer NOT NULL DEFAULT 0,
    resent_at   timestamptz,
    touched_at  timestamptz NOT NULL
);
CREATE INDEX signup_tries_touched_idx ON signup_tries (touched_at);

-- Links that were mailed to users: one per user and purpose, a newer one
-- replaces it.
CREATE TABLE user_links (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    user_id    text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('invite', 'reset')),
    -- SHA-256 of the token, which is random.
    token_hash bytea NOT NULL,
    -- What asked for it, so that it is answered once.
    request_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX user_links_user_key ON user_links (user_id, purpose);
CREATE UNIQUE INDEX user_links_token_key ON user_links (token_hash);
CREATE INDEX user_links_expires_idx ON user_links (expires_at);

-- Until when an invitation can be accepted; null for everybody who has.
ALTER TABLE users ADD COLUMN invite_expires_at timestamptz;
