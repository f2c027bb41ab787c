-- +goose Up
-- Tokens of impersonating admins that were ended before they expired. A row is deleted an hour or more after the token has expired.
CREATE TABLE ended_impersonations (
    token_id   text PRIMARY KEY,
    expires_at timestamptz NOT NULL
);
CREATE INDEX ended_impersonations_expires_idx ON ended_impersonations (expires_at);
