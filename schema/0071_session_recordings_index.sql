-- +goose NO TRANSACTION
-- +goose Up
-- The recordings of a session. It is built without blocking writers; a build that was interrupted leaves an invalid index, which DROP
-- removes.
DROP INDEX CONCURRENTLY IF EXISTS recordings_session_idx;
CREATE INDEX CONCURRENTLY recordings_session_idx ON recordings (session_id, id DESC) WHERE session_id IS NOT NULL;
