-- +goose NO TRANSACTION
-- +goose Up
-- The minutes of SRS servers by tenant and hour, for the analytics. It is built without blocking writers; a build that was interrupted
-- leaves an invalid index, which DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS audience_hours_srs_idx;
CREATE INDEX CONCURRENTLY audience_hours_srs_idx ON audience_hours (tenant_id, hour) WHERE node = 'srs';
