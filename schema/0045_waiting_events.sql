-- +goose NO TRANSACTION
-- +goose Up
-- The events that wait for their deliveries. The index is built without blocking writers. An interrupted build leaves an invalid
-- index, which the DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS events_waiting_idx;
CREATE INDEX CONCURRENTLY events_waiting_idx ON events (tenant_id, position) WHERE fanned_at IS NULL;
