-- +goose Up
-- Results of requests with an Idempotency-Key, kept for a day.
CREATE TABLE idempotency_keys (
    tenant_id    text NOT NULL REFERENCES tenants (id),
    key          text NOT NULL,
    -- SHA-256 of the operation, its path and its body: the key is valid for this request only.
    fingerprint  bytea NOT NULL,
    -- Id of the run that holds the key. A run that lost the key to another one can't commit any more.
    run_id       text NOT NULL,
    created_at   timestamptz NOT NULL,
    -- Until then the run counts as alive; it extends the lease while it works.
    lease_until  timestamptz NOT NULL,
    -- Written in the first transaction that the run commits: from then on no other run may execute the request.
    committed_at timestamptz,
    -- The answer, NULL until there is one. The body is encrypted: it may contain a new secret.
    status       integer,
    content_type text,
    body         bytea,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);
