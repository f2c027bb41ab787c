-- +goose Up
-- Reason for which a deleted API key is invalid, for 400 days after it ended, so that a client that still uses it gets
-- key_revoked or key_expired. Only the hash is kept, neither the tenant nor the name of the key.
CREATE TABLE ended_api_keys (
    key_hash bytea PRIMARY KEY,
    revoked  boolean NOT NULL, -- else it expired
    ended_at timestamptz NOT NULL
);
CREATE INDEX ended_api_keys_ended_idx ON ended_api_keys (ended_at);
