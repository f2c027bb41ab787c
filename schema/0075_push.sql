-- +goose Up
-- Credentials of projects at the push providers. A project has no row of its own elsewhere: it is the tenant's name for an app.
CREATE TABLE push_credentials (
    id               text PRIMARY KEY,
    tenant_id        text NOT NULL,
    project_id       text NOT NULL,
    ios_enabled      boolean NOT NULL DEFAULT false,
    ios_team_id      text,
    ios_key_id       text,
    ios_bundle_id    text,
    -- The signing key in PEM, encrypted.
    ios_key          bytea,
    ios_production   boolean NOT NULL DEFAULT false,
    cloud_enabled    boolean NOT NULL DEFAULT false,
    cloud_project_id text,
    -- The service account in JSON, encrypted.
    cloud_account    bytea,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    UNIQUE (tenant_id, project_id),
    CHECK (NOT ios_enabled OR ios_team_id IS NOT NULL AND ios_key_id IS NOT NULL AND ios_bundle_id IS NOT NULL AND ios_key IS NOT NULL),
    CHECK (NOT cloud_enabled OR cloud_account IS NOT NULL),
    CHECK ((cloud_account IS NULL) = (cloud_project_id IS NULL))
);
CREATE INDEX push_credentials_created_idx ON push_credentials (tenant_id, created_at);

-- Apps on devices, and browsers. A token is once in each tenant.
CREATE TABLE push_devices (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id    text NOT NULL,
    project_id   text NOT NULL,
    user_id      text NOT NULL,
    platform     text NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
    kind         text NOT NULL DEFAULT 'alert' CHECK (kind IN ('alert', 'voip')),
    token        text NOT NULL,
    -- SHA-256 of the token: a token of 1024 characters is too long for an index.
    token_hash   bytea NOT NULL,
    app_version  text,
    os_version   text,
    locale       text,
    active       boolean NOT NULL DEFAULT true,
    -- When it was first registered, and last.
    registered_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    UNIQUE (tenant_id, token_hash),
    CHECK (kind = 'alert' OR platform = 'ios')
);
CREATE INDEX push_devices_user_idx ON push_devices (tenant_id, user_id, last_seen_at DESC);
CREATE INDEX push_devices_seen_idx ON push_devices (last_seen_at);

-- row_counts has the number of devices by tenant.
-- +goose StatementBegin
CREATE FUNCTION count_push_devices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) SELECT 'push_devices', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed GROUP BY 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER push_devices_made AFTER INSERT ON push_devices
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_push_devices('1');
CREATE TRIGGER push_devices_gone AFTER DELETE ON push_devices
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_push_devices('-1');

-- Messages to many users.
CREATE TABLE push_notifications (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL,
    project_id text NOT NULL,
    title      text NOT NULL,
    body       text NOT NULL,
    data       jsonb NOT NULL,
    -- The number of users that the request named, and of their devices.
    users      integer NOT NULL,
    attempted  integer NOT NULL,
    created_at timestamptz NOT NULL,
    -- After it, the notification is neither sent nor shown.
    expires_at timestamptz NOT NULL
);
CREATE INDEX push_notifications_list_idx ON push_notifications (tenant_id, id DESC);
CREATE INDEX push_notifications_created_idx ON push_notifications (created_at);

-- Parts of a notification, each sent by one job.
CREATE TABLE push_batches (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id         text NOT NULL,
    notification_id   text NOT NULL REFERENCES push_notifications (id) ON DELETE CASCADE,
    -- Devices for which no provider has given a final answer yet.
    waiting           bigint[] NOT NULL,
    -- Runs after which devices were still waiting.
    tries             integer NOT NULL DEFAULT 0,
    -- The next run; NULL when nothing waits.
    next_at           timestamptz,
    -- Final answers by outcome.
    delivered         integer NOT NULL DEFAULT 0,
    stale             integer NOT NULL DEFAULT 0,
    throttled         integer NOT NULL DEFAULT 0,
    credential_faults integer NOT NULL DEFAULT 0,
    rejected          integer NOT NULL DEFAULT 0,
    unreachable       integer NOT NULL DEFAULT 0,
    expired           integer NOT NULL DEFAULT 0,
    -- The latest failure in words.
    last_error        text,
    CHECK ((next_at IS NULL) = (cardinality(waiting) = 0))
);
CREATE INDEX push_batches_notification_idx ON push_batches (notification_id);
CREATE INDEX push_batches_waiting_idx ON push_batches (tenant_id) WHERE next_at IS NOT NULL;
