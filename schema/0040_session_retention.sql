-- +goose Up

-- Retention searches for the sessions that ended first.
CREATE INDEX sessions_ended_idx ON sessions (ended_at) WHERE ended_at IS NOT NULL;
