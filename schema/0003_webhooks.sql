-- +goose Up

-- Events, one row each, independent of the endpoints that receive them.
CREATE TABLE events (
    id          text PRIMARY KEY,
    tenant_id   text NOT NULL REFERENCES tenants (id),
    event       text NOT NULL,
    -- Subject of the event: a stream, session, order or auction.
    subject     text NOT NULL,
    -- The body of every delivery, byte for byte (json keeps the text), because it is signed.
    payload     json NOT NULL,
    occurred_at timestamptz NOT NULL
);
CREATE INDEX events_tenant_idx ON events (tenant_id, id DESC);
-- For retention.
CREATE INDEX events_occurred_idx ON events (occurred_at);

CREATE TABLE webhook_endpoints (
    id              text PRIMARY KEY,
    tenant_id       text NOT NULL REFERENCES tenants (id),
    url             text NOT NULL,
    -- Empty for all events.
    events          text[] NOT NULL,
    -- Encrypted with the master key.
    secret          bytea NOT NULL,
    status          text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
    disabled_reason text,
    deleted_at      timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);
CREATE INDEX webhook_endpoints_tenant_idx ON webhook_endpoints (tenant_id, id DESC) WHERE deleted_at IS NULL;

CREATE TABLE webhook_deliveries (
    id              text PRIMARY KEY,
    tenant_id       text NOT NULL REFERENCES tenants (id),
    endpoint_id     text NOT NULL REFERENCES webhook_endpoints (id),
    event_id        text NOT NULL REFERENCES events (id),
    subject         text NOT NULL,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'retrying', 'failed')),
    -- All attempts, and the scheduled ones of them.
    attempts        integer NOT NULL DEFAULT 0,
    tries           integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    -- Time of a requested attempt, in addition to the schedule; null for none.
    retry_at        timestamptz,
    -- The next delivery of the same subject, which waits for this one's first attempt.
    next_id         text,
    response_status integer,
    response_body   text,
    duration_ms     integer,
    error           text,
    -- One object for each of the last 50 attempts: at, responseStatus, durationMs, error.
    log             jsonb NOT NULL DEFAULT '[]',
    created_at      timestamptz NOT NULL,
    delivered_at    timestamptz
);
CREATE INDEX webhook_deliveries_endpoint_idx ON webhook_deliveries (endpoint_id, id DESC);
CREATE INDEX webhook_deliveries_event_idx ON webhook_deliveries (event_id);
-- The tail of each subject's queue of first attempts.
CREATE INDEX webhook_deliveries_lane_idx ON webhook_deliveries (endpoint_id, subject, id DESC) WHERE status = 'pending';
-- For retention.
CREATE INDEX webhook_deliveries_done_idx ON webhook_deliveries (created_at) WHERE status IN ('delivered', 'failed');
