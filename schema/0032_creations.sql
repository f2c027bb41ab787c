-- +goose Up
-- Keys that ended and endpoints that were deleted are deleted 30 days later. A key ends no
-- later than the one that made it, so the makers of keys that can be used still are there.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_parent_id_fkey,
    ADD CONSTRAINT api_keys_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES api_keys (id) ON DELETE SET NULL;
CREATE INDEX api_keys_ended_idx ON api_keys (least(revoked_at, expires_at)) WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL;
CREATE INDEX webhook_endpoints_deleted_idx ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

-- To find what a tenant has made in the last day, deleted ones included.
CREATE INDEX api_keys_created_idx ON api_keys (tenant_id, created_at DESC);
CREATE INDEX webhook_endpoints_created_idx ON webhook_endpoints (tenant_id, created_at DESC);
