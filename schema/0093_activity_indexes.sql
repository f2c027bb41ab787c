-- +goose NO TRANSACTION
-- +goose Up
-- Built without blocking writers. An interrupted build leaves an invalid index, which the DROP removes.

-- Deliveries of all tenants that have not arrived, by the status that tenants see, newest first. The collation is that of
-- webhook_deliveries_status_idx.
DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_unarrived_idx;
CREATE INDEX CONCURRENTLY webhook_deliveries_unarrived_idx ON webhook_deliveries
    ((CASE WHEN retry_at IS NULL THEN status ELSE 'retrying' END), id COLLATE "C" DESC) WHERE status <> 'delivered' OR retry_at IS NOT NULL;
-- When attempts are due, for the age of the oldest one.
DROP INDEX CONCURRENTLY IF EXISTS webhook_deliveries_next_attempt_idx;
CREATE INDEX CONCURRENTLY webhook_deliveries_next_attempt_idx ON webhook_deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
-- Endpoints of all tenants, newest first.
DROP INDEX CONCURRENTLY IF EXISTS webhook_endpoints_page_idx;
CREATE INDEX CONCURRENTLY webhook_endpoints_page_idx ON webhook_endpoints (created_at DESC, id DESC) INCLUDE (status) WHERE deleted_at IS NULL;
-- Viewing of all tenants by day, for the ranking of tenants.
DROP INDEX CONCURRENTLY IF EXISTS usage_days_watched_idx;
CREATE INDEX CONCURRENTLY usage_days_watched_idx ON usage_days (day, tenant_id) WHERE meter = 'VIEWER_MINUTES';
-- API keys by their last use.
DROP INDEX CONCURRENTLY IF EXISTS api_keys_used_idx;
CREATE INDEX CONCURRENTLY api_keys_used_idx ON api_keys (last_used_at) WHERE last_used_at IS NOT NULL;
