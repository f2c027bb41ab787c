-- +goose Up

-- Capture URLs of the webhook tester.
CREATE TABLE capture_urls (
    id               text PRIMARY KEY,
    tenant_id        text NOT NULL REFERENCES tenants (id),
    -- The last part of the URL. With it a client can send requests to the URL, but read nothing.
    token            text NOT NULL,
    -- Number of all requests so far; the slot of the next one follows from it.
    captured         bigint NOT NULL DEFAULT 0,
    last_captured_at timestamptz,
    deleted_at       timestamptz,
    created_at       timestamptz NOT NULL
);
CREATE UNIQUE INDEX capture_urls_token_key ON capture_urls (token);
CREATE INDEX capture_urls_tenant_idx ON capture_urls (tenant_id, id DESC);
CREATE INDEX capture_urls_deleted_idx ON capture_urls (deleted_at) WHERE deleted_at IS NOT NULL;

-- Captured requests in a ring of 200 slots: a request replaces the one 200 before it,
-- so no rows have to be counted or trimmed.
CREATE TABLE captures (
    capture_url_id text NOT NULL REFERENCES capture_urls (id) ON DELETE CASCADE,
    slot           integer NOT NULL,
    id             text NOT NULL,
    tenant_id      text NOT NULL REFERENCES tenants (id),
    method         text NOT NULL,
    -- Escaped, as received: ASCII.
    path           text NOT NULL,
    query          text NOT NULL,
    -- A list of {name, value, base64}.
    headers        jsonb NOT NULL,
    body           bytea NOT NULL,
    ip             text NOT NULL,
    captured_at    timestamptz NOT NULL,
    PRIMARY KEY (capture_url_id, slot)
);
CREATE UNIQUE INDEX captures_id_key ON captures (id);
-- For retention.
CREATE INDEX captures_captured_idx ON captures (captured_at);
