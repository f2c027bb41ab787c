-- +goose NO TRANSACTION
-- +goose Up
-- Deliveries of an endpoint by the status that its tenant sees, newest first. The collation keeps the planner from reading
-- all tenants' deliveries by the primary key instead; ids have lower-case letters and digits only, so their order is the
-- same. It is built without blocking writers. An interrupted build leaves an invalid index, which the DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_status_idx;
CREATE INDEX CONCURRENTLY webhook_deliveries_status_idx ON webhook_deliveries
    (endpoint_id, (CASE WHEN retry_at IS NULL THEN status ELSE 'retrying' END), id COLLATE "C" DESC);
-- Tests of an endpoint, which events_named_idx leaves out.
DROP INDEX CONCURRENTLY IF EXISTS events_tests_idx;
CREATE INDEX CONCURRENTLY events_tests_idx ON events (endpoint_id) WHERE endpoint_id IS NOT NULL;
