-- +goose NO TRANSACTION
-- +goose Up
-- Indexes for pages of lists: a tenant's streams on air, tenants and users as admins list them, a user's channels in the order of
-- their list, and a channel's members in the order of theirs. They include what filters compare, so that a page is found with
-- the index only. They are built without blocking writers; a build that was interrupted leaves an invalid index, which DROP
-- removes.
DROP INDEX CONCURRENTLY IF EXISTS streams_on_air_idx;
CREATE INDEX CONCURRENTLY streams_on_air_idx ON streams (tenant_id) WHERE status IN ('LIVE', 'RECONNECTING');
DROP INDEX CONCURRENTLY IF EXISTS tenants_page_idx;
CREATE INDEX CONCURRENTLY tenants_page_idx ON tenants (created_at DESC, id DESC) INCLUDE (status, plan);
DROP INDEX CONCURRENTLY IF EXISTS users_tenant_created_idx;
CREATE INDEX CONCURRENTLY users_tenant_created_idx ON users (tenant_id, created_at DESC, id DESC);
DROP INDEX CONCURRENTLY IF EXISTS channel_members_list_idx;
CREATE INDEX CONCURRENTLY channel_members_list_idx ON channel_members (tenant_id, user_id, channel_id DESC);
DROP INDEX CONCURRENTLY IF EXISTS channel_members_joined_idx;
CREATE INDEX CONCURRENTLY channel_members_joined_idx ON channel_members (channel_id, joined_at, md5(user_id))
    WHERE joined_at IS NOT NULL AND left_at IS NULL AND NOT banned;
DROP INDEX CONCURRENTLY IF EXISTS tenants_status_idx;
CREATE INDEX CONCURRENTLY tenants_status_idx ON tenants (status, created_at DESC, id DESC) INCLUDE (plan);
DROP INDEX CONCURRENTLY IF EXISTS tenants_plan_idx;
CREATE INDEX CONCURRENTLY tenants_plan_idx ON tenants (plan, created_at DESC, id DESC) INCLUDE (status);
DROP INDEX CONCURRENTLY IF EXISTS tenants_created_idx;
DROP INDEX CONCURRENTLY IF EXISTS channel_members_user_idx;
