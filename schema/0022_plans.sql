-- +goose Up

-- Plans: one row per tier. The limits have the names of PlanLimits in the API; with
-- NULL only the server's own bounds apply. Limits are read at each check, so a change
-- applies to every tenant on the plan at once.
CREATE TABLE plans (
    id                       text PRIMARY KEY,
    tier                     text NOT NULL CHECK (tier IN ('FREE', 'STARTER', 'PRO', 'ENTERPRISE')),
    name                     text NOT NULL,
    description              text NOT NULL,
    -- Price of a month and of a year, without tax; NULL: no yearly price.
    price_cents              bigint NOT NULL CHECK (price_cents >= 0),
    yearly_price_cents       bigint CHECK (yearly_price_cents >= 0),
    currency                 text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    trial_days               integer NOT NULL CHECK (trial_days BETWEEN 0 AND 90),
    -- Whether tenants can book the plan.
    active                   boolean NOT NULL DEFAULT true,
    processor_product_id     text,

    max_users                integer CHECK (max_users >= 1),
    max_api_keys             integer CHECK (max_api_keys >= 0),
    max_live_streams         integer CHECK (max_live_streams >= 0),
    max_viewers              integer CHECK (max_viewers >= 0),
    max_session_capacity     integer CHECK (max_session_capacity BETWEEN 2 AND 10000),
    max_webhook_endpoints    integer CHECK (max_webhook_endpoints >= 0),
    max_restream_targets     integer CHECK (max_restream_targets BETWEEN 0 AND 8),
    recording_retention_days integer CHECK (recording_retention_days >= 1),
    -- Bytes of captured requests of the webhook tester, over all of a tenant's capture
    -- URLs. At least 4 MiB, so that every request has room.
    max_capture_bytes        bigint CHECK (max_capture_bytes >= 4194304),
    -- Calls per minute to the payment processor that a tenant's requests may cause.
    max_processor_calls      integer CHECK (max_processor_calls >= 1),

    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL
);
CREATE UNIQUE INDEX plans_tier_key ON plans (tier);

-- Amount of a meter that a billing period includes, in the meter's unit. A meter
-- without a row is not limited.
CREATE TABLE plan_allowances (
    tier     text NOT NULL REFERENCES plans (tier),
    meter    text NOT NULL CHECK (meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES', 'PARTICIPANT_MINUTES', 'RECORDING_MINUTES',
        'STORAGE_BYTES', 'EGRESS_BYTES', 'TRANSCODE_MINUTES', 'PUSHES')),
    included bigint NOT NULL CHECK (included >= 0),
    PRIMARY KEY (tier, meter)
);

INSERT INTO plans (id, tier, name, description, price_cents, yearly_price_cents, currency, trial_days,
    max_users, max_api_keys, max_live_streams, max_viewers, max_session_capacity, max_webhook_endpoints, max_restream_targets,
    recording_retention_days, max_capture_bytes, max_processor_calls, created_at, updated_at)
VALUES
    ('plan_01m81wd1s1f2c8eak1rjh4atm2', 'FREE', 'Free', 'To try everything out', 0, NULL, 'USD', 0,
        5, 10, 2, 250, 100, 5, 1, 7, 64 * 1048576, 30, now(), now()),
    ('plan_01m81wd1s1f39t3pw0h0rvnxxx', 'STARTER', 'Starter', 'For the first shows', 2900, 29000, 'USD', 14,
        10, 20, 5, 1000, 300, 10, 3, 90, 256 * 1048576, 60, now(), now()),
    ('plan_01m81wd1s1f3e8sjha5t0526hh', 'PRO', 'Pro', 'For teams that broadcast every week', 9900, 99000, 'USD', 14,
        25, 50, 10, 5000, 1000, 20, 8, 365, 1024 * 1048576, 300, now(), now()),
    ('plan_01m81wd1s1f3hrkdc9d3y22n29', 'ENTERPRISE', 'Enterprise', 'With limits and prices by agreement', 99900, NULL, 'USD', 0,
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, now(), now());

INSERT INTO plan_allowances (tier, meter, included)
VALUES
    ('FREE', 'STREAM_MINUTES', 600), ('FREE', 'VIEWER_MINUTES', 10000), ('FREE', 'PARTICIPANT_MINUTES', 5000),
    ('FREE', 'RECORDING_MINUTES', 300), ('FREE', 'STORAGE_BYTES', 5000000000), ('FREE', 'EGRESS_BYTES', 50000000000),
    ('FREE', 'TRANSCODE_MINUTES', 60), ('FREE', 'PUSHES', 10000),
    ('STARTER', 'STREAM_MINUTES', 3000), ('STARTER', 'VIEWER_MINUTES', 100000), ('STARTER', 'PARTICIPANT_MINUTES', 25000),
    ('STARTER', 'RECORDING_MINUTES', 3000), ('STARTER', 'STORAGE_BYTES', 100000000000), ('STARTER', 'EGRESS_BYTES', 500000000000),
    ('STARTER', 'TRANSCODE_MINUTES', 600), ('STARTER', 'PUSHES', 100000),
    ('PRO', 'STREAM_MINUTES', 15000), ('PRO', 'VIEWER_MINUTES', 1000000), ('PRO', 'PARTICIPANT_MINUTES', 150000),
    ('PRO', 'RECORDING_MINUTES', 15000), ('PRO', 'STORAGE_BYTES', 1000000000000), ('PRO', 'EGRESS_BYTES', 5000000000000),
    ('PRO', 'TRANSCODE_MINUTES', 6000), ('PRO', 'PUSHES', 1000000);

ALTER TABLE tenants DROP CONSTRAINT tenants_plan_check;
ALTER TABLE tenants ADD CONSTRAINT tenants_plan_fkey FOREIGN KEY (plan) REFERENCES plans (tier);

-- For the count of usable keys, which doesn't read the revoked and expired ones.
CREATE INDEX api_keys_usable_idx ON api_keys (tenant_id, (coalesce(expires_at, 'infinity'::timestamptz))) WHERE revoked_at IS NULL;

-- Size of a captured request in bytes: body, headers, path, query and the data
-- stored with them.
ALTER TABLE captures ADD COLUMN bytes integer NOT NULL DEFAULT 0;
UPDATE captures SET bytes = octet_length(body) + octet_length(headers::text) + octet_length(path) + octet_length(query) + 256;
ALTER TABLE captures ALTER COLUMN bytes DROP DEFAULT;
-- For a tenant's oldest captures.
CREATE INDEX captures_tenant_idx ON captures (tenant_id, id) INCLUDE (bytes);
-- Large rows are inserted and deleted often: vacuum should free their space before the
-- same amount is written again.
ALTER TABLE captures SET (autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_cost_delay = 0);

-- Size of a tenant's captured requests: the sum of captures.bytes. A transaction that
-- adds or deletes captures locks the tenant's row first.
CREATE TABLE capture_usage (
    tenant_id    text PRIMARY KEY REFERENCES tenants (id),
    bytes        bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    -- The minute of the last capture, and the bytes captured in it, including captures
    -- that were deleted since.
    minute       timestamptz NOT NULL DEFAULT 'epoch',
    minute_bytes bigint NOT NULL DEFAULT 0
);
INSERT INTO capture_usage (tenant_id, bytes)
SELECT u.tenant_id, coalesce(sum(c.bytes), 0) FROM capture_urls u LEFT JOIN captures c ON c.capture_url_id = u.id GROUP BY u.tenant_id;

-- Calls to the payment processor that a tenant's requests have caused, in the last
-- minute with any.
CREATE TABLE processor_calls (
    tenant_id text PRIMARY KEY REFERENCES tenants (id),
    minute    timestamptz NOT NULL,
    calls     integer NOT NULL
);
