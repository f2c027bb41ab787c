-- +goose Up
-- Ended keys and deleted endpoints are deleted after 30 days. A key ends no later than the
-- key that created it, so the creators of usable keys still exist.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_parent_id_fkey,
    ADD CONSTRAINT api_keys_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES api_keys (id) ON DELETE SET NULL;
CREATE INDEX api_keys_ended_idx ON api_keys (least(revoked_at, expires_at)) WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL;
CREATE INDEX webhook_endpoints_deleted_idx ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

-- For the number of keys that a tenant has created in the last day, including deleted ones.
CREATE INDEX api_keys_created_idx ON api_keys (tenant_id, created_at DESC);
CREATE INDEX webhook_endpoints_created_idx ON webhook_endpoints (tenant_id, created_at DESC);
