-- +goose Up
-- What requests with an Idempotency-Key came to, for a day.
CREATE TABLE idempotency_keys (
    tenant_id    text NOT NULL REFERENCES tenants (id),
    key          text NOT NULL,
    -- SHA-256 of the operation, its path and its body: the key stands for this request alone.
    fingerprint  bytea NOT NULL,
    -- Names the run that holds the key. Who has lost it to another run can't commit any more.
    run_id       text NOT NULL,
    created_at   timestamptz NOT NULL,
    -- Until then the run is taken to be alive; it moves this on while it is.
    lease_until  timestamptz NOT NULL,
    -- Written in the first transaction that the run commits: from then on nobody may run it again.
    committed_at timestamptz,
    -- The answer, NULL until there is one. The body is sealed: it may hold a fresh secret.
    status       integer,
    content_type text,
    body         bytea,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);
