-- +goose NO TRANSACTION
-- +goose Up
-- For the figures of one stream. It is built without blocking writers; a build that was interrupted leaves an invalid index,
-- which DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS audience_hours_stream_idx;
CREATE INDEX CONCURRENTLY audience_hours_stream_idx ON audience_hours (stream_id);
