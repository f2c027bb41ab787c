-- +goose NO TRANSACTION
-- +goose Up
-- Built without blocking writers. An interrupted build leaves an invalid index, which the DROP removes.

-- The jobs of a recording by kind, newest first.
DROP INDEX CONCURRENTLY IF EXISTS media_jobs_recording_page_idx;
CREATE INDEX CONCURRENTLY media_jobs_recording_page_idx ON media_jobs (recording_id, kind, id DESC);
