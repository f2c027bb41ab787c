-- +goose NO TRANSACTION
-- +goose Up
-- Breakout rooms that are open and have an end. It is built without blocking writers; a build that was interrupted leaves an
-- invalid index, which DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS sessions_closing_idx;
CREATE INDEX CONCURRENTLY sessions_closing_idx ON sessions (closes_at) WHERE state = 'live' AND closes_at IS NOT NULL;
