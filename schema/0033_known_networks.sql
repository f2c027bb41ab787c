-- +goose Up
-- Networks from which somebody has logged in with an e-mail address. They are
-- exempt from the limit of failed logins, so that failures from elsewhere lock
-- nobody out.
CREATE TABLE known_networks (
    -- Keyed hash of e-mail address and network.
    pair_hash bytea PRIMARY KEY,
    -- The last login, to the day.
    seen_at   timestamptz NOT NULL
);
CREATE INDEX known_networks_seen_idx ON known_networks (seen_at);
