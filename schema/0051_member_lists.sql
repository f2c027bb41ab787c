-- +goose Up
-- A user's channels in the order of their list, and a channel's members in the order of theirs.
DROP INDEX channel_members_user_idx;
CREATE INDEX channel_members_user_idx ON channel_members (tenant_id, user_id, channel_id DESC);
CREATE INDEX channel_members_joined_idx ON channel_members (channel_id, joined_at, md5(user_id))
    WHERE joined_at IS NOT NULL AND left_at IS NULL AND NOT banned;
-- For the admins' lists with a filter.
CREATE INDEX tenants_status_idx ON tenants (status, created_at DESC, id DESC) INCLUDE (plan);
CREATE INDEX tenants_plan_idx ON tenants (plan, created_at DESC, id DESC) INCLUDE (status);
