-- name: ListBannedUsers :many
SELECT user_id FROM channel_members
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND user_id = ANY (@user_ids::text[]) AND banned;
