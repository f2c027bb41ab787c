-- +goose Up

-- Sign-ins of tenants' users and of admins: one row per token that a password or a mailed code has issued. The end of a sign-in deletes
-- its row, and a token without its row is refused. A holder has 50 rows at most.
CREATE TABLE sign_ins (
    id            text PRIMARY KEY,
    -- A user or an admin.
    holder_id     text NOT NULL,
    -- The holder's token_version when it signed in. Another version has ended the sign-in.
    token_version integer NOT NULL,
    ip            text NOT NULL,
    user_agent    text NOT NULL,
    created_at    timestamptz NOT NULL,
    -- Written once per 5 minutes at most.
    last_seen_at  timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL
);
CREATE INDEX sign_ins_holder_idx ON sign_ins (holder_id, id DESC);
CREATE INDEX sign_ins_expires_idx ON sign_ins (expires_at);

-- Second factors: the secret of an authenticator app of a user or an admin.
CREATE TABLE second_factors (
    holder_id    text PRIMARY KEY,
    -- Encrypted with the master key.
    secret       bytea NOT NULL,
    -- NULL until the holder has proved with a code that the app has the secret. Until then a login needs no code.
    confirmed_at timestamptz,
    -- The 30-second step of the code that was accepted last. Codes of this step and of earlier ones are refused.
    last_step    bigint NOT NULL DEFAULT 0,
    -- Wrong codes since wrong_since.
    wrong_codes  integer NOT NULL DEFAULT 0,
    wrong_since  timestamptz,
    created_at   timestamptz NOT NULL
);

-- Recovery codes replace a code of the app once each. A used one is deleted.
CREATE TABLE recovery_codes (
    holder_id text NOT NULL REFERENCES second_factors (holder_id) ON DELETE CASCADE,
    -- SHA-256 of the holder's id and the code. A code has 80 random bits, so nothing slower is needed.
    code_hash bytea NOT NULL,
    PRIMARY KEY (holder_id, code_hash)
);
CREATE INDEX second_factors_unconfirmed_idx ON second_factors (created_at) WHERE confirmed_at IS NULL;

-- The platform's own applications: tenants that are never billed.
CREATE TABLE first_party_apps (
    tenant_id   text PRIMARY KEY REFERENCES tenants (id),
    description text,
    -- The admin who created it.
    created_by  text NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);
CREATE INDEX first_party_apps_created_idx ON first_party_apps (created_at DESC, tenant_id DESC);
