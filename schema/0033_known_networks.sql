-- +goose Up
-- Networks from which a user has logged in with an e-mail address. They are exempt
-- from the limit of failed logins, so that failures from other networks don't lock
-- out the user.
CREATE TABLE known_networks (
    -- Keyed hash of the e-mail address and the network.
    pair_hash bytea PRIMARY KEY,
    -- Day of the last login.
    seen_at   timestamptz NOT NULL
);
CREATE INDEX known_networks_seen_idx ON known_networks (seen_at);
