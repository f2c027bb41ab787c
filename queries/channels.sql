-- name: GetChannel :one
-- A group, a direct channel, or the channel of a stream or session, which gets a row with the first thing to
-- store. A participant of the room is a member without a row.
WITH place AS (
    SELECT c.id, c.kind, coalesce(c.name, '')::text AS name, c.project_id, c.created_at
    FROM channels c WHERE c.tenant_id = @tenant_id AND c.id = @id AND c.kind IN ('group', 'direct')
    UNION ALL
    SELECT s.id, 'stream', s.name, s.project_id, s.created_at FROM streams s WHERE s.tenant_id = @tenant_id AND s.id = @id
    UNION ALL
    SELECT s.id, 'session', s.name, s.project_id, s.created_at FROM sessions s WHERE s.tenant_id = @tenant_id AND s.id = @id
)
SELECT place.*, coalesce(c.slowmode_sec, 0)::integer AS slowmode_sec, c.last_message_at,
    coalesce(c.updated_at, place.created_at)::timestamptz AS updated_at, c.direct_user_ids,
    (SELECT count(*) FROM (
        SELECT m.user_id FROM channel_members m WHERE m.channel_id = place.id AND m.joined_at IS NOT NULL AND m.left_at IS NULL
        UNION
        SELECT p.user_id FROM participants p WHERE p.room_id = place.id AND p.state = 'joined'
        EXCEPT
        SELECT b.user_id FROM channel_members b WHERE b.channel_id = place.id AND b.banned
    ) member)::integer AS member_count
FROM place LEFT JOIN channels c ON c.tenant_id = @tenant_id AND c.id = place.id;

-- name: FindChannel :one
-- Like GetChannel, but returns only whether the channel exists, and its kind.
SELECT c.kind, c.direct_user_ids FROM channels c WHERE c.tenant_id = @tenant_id AND c.id = @id
UNION
SELECT 'stream', NULL FROM streams s WHERE s.tenant_id = @tenant_id AND s.id = @id
UNION
SELECT 'session', NULL FROM sessions s WHERE s.tenant_id = @tenant_id AND s.id = @id;

-- name: ListChannels :many
SELECT c.*, (SELECT count(*) FROM channel_members m
    WHERE m.channel_id = c.id AND m.joined_at IS NOT NULL AND m.left_at IS NULL AND NOT m.banned)::integer AS member_count
FROM channels c
WHERE c.tenant_id = @tenant_id AND c.kind IN ('group', 'direct') AND (sqlc.narg('cursor')::text IS NULL OR c.id < sqlc.narg('cursor')::text)
ORDER BY c.id DESC LIMIT @max_rows;

-- name: ListChannelsOf :many
-- As ListChannels, for a member. Begins with the member's rows, of which those in channels of streams and sessions come after all others.
WITH page AS MATERIALIZED (
    SELECT k.id FROM channel_members m JOIN channels k ON k.id = m.channel_id
    WHERE m.tenant_id = @tenant_id AND m.user_id = @user_id AND m.channel_id < @before AND m.joined_at IS NOT NULL AND m.left_at IS NULL
      AND NOT m.banned AND k.kind IN ('group', 'direct')
    ORDER BY m.channel_id DESC LIMIT @max_rows
)
SELECT c.*, (SELECT count(*) FROM channel_members m
    WHERE m.channel_id = c.id AND m.joined_at IS NOT NULL AND m.left_at IS NULL AND NOT m.banned)::integer AS member_count
FROM page JOIN channels c ON c.id = page.id WHERE c.tenant_id = @tenant_id ORDER BY c.id DESC;

-- name: CreateChannel :one
INSERT INTO channels (id, tenant_id, kind, name, project_id, created_at, updated_at)
VALUES (@id, @tenant_id, 'group', @name::text, @project_id, clock_timestamp(), clock_timestamp()) RETURNING *;

-- name: CreateDirectChannel :one
-- Returns no row if the two already have a channel. Waits for a transaction that is creating it.
INSERT INTO channels (id, tenant_id, kind, name, project_id, direct_user_ids, created_at, updated_at)
VALUES (@id, @tenant_id, 'direct', @name::text, @project_id, @user_ids, clock_timestamp(), clock_timestamp())
ON CONFLICT (tenant_id, coalesce(project_id, ''), direct_user_ids) WHERE kind = 'direct' DO NOTHING RETURNING *;

-- name: FindDirectChannel :one
SELECT id FROM channels
WHERE tenant_id = @tenant_id AND kind = 'direct' AND coalesce(project_id, '') = coalesce(sqlc.narg('project_id')::text, '') AND direct_user_ids = @user_ids;

-- name: CreateRoomChannel :execrows
-- Creates the row of a stream's or session's channel if it has none. Locks a session, so that retention can't delete it
-- and leave the channel.
INSERT INTO channels (id, tenant_id, kind, created_at, updated_at)
SELECT room.id, @tenant_id, room.kind, room.created_at, room.created_at FROM (
    SELECT st.id, 'stream' AS kind, st.created_at FROM streams st WHERE st.tenant_id = @tenant_id AND st.id = @id
    UNION ALL
    SELECT se.id, 'session', se.created_at FROM (
        SELECT sessions.id, sessions.created_at FROM sessions
        WHERE sessions.tenant_id = @tenant_id AND sessions.id = @id FOR KEY SHARE) se) room
ON CONFLICT (id) DO NOTHING;

-- name: LockChannel :one
-- Reads the database's clock after the row is locked.
WITH c AS MATERIALIZED (SELECT * FROM channels WHERE channels.tenant_id = @tenant_id AND channels.id = @id FOR UPDATE)
SELECT c.*, clock_timestamp()::timestamptz AS now FROM c;

-- name: SetSlowmode :exec
UPDATE channels SET slowmode_sec = @slowmode_sec, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListChannelUserStatuses :many
-- The users' memberships and restrictions in a channel and, if it belongs to a room, in that room; one row for each of the ids.
-- In a breakout room, a moderator of the parent counts as invited.
SELECT u.user_id::text AS user_id, coalesce(m.role, '')::text AS role, (m.user_id IS NOT NULL)::boolean AS known, m.joined_at, m.left_at,
    m.timed_out_until, coalesce(m.muted, false)::boolean AS muted, coalesce(m.banned, false)::boolean AS banned, m.wrote_at,
    coalesce(p.role, v.role, '')::text AS room_role,
    coalesce(p.state, CASE WHEN v.user_id IS NOT NULL THEN 'invited' END, '')::text AS room_state,
    coalesce(p.display_name, v.display_name) AS display_name
FROM unnest(@user_ids::text[]) AS u (user_id)
LEFT JOIN channel_members m ON m.tenant_id = @tenant_id AND m.channel_id = @channel_id AND m.user_id = u.user_id
LEFT JOIN participants p ON p.tenant_id = @tenant_id AND p.room_id = @channel_id AND p.user_id = u.user_id
LEFT JOIN sessions s ON s.tenant_id = @tenant_id AND s.id = @channel_id AND p.user_id IS NULL
LEFT JOIN participants v ON v.tenant_id = @tenant_id AND v.room_id = s.parent_session_id AND v.user_id = u.user_id
    AND v.role IN ('host', 'cohost') AND v.state <> 'kicked';

-- name: ListChannelMembers :many
-- In the order of joining; participants of the room are members without a row. tie orders members who joined at the
-- same time.
-- Each part reads its page in this order, without the users who come earlier by the other part.
WITH invited AS (
    SELECT m.user_id, m.role AS member_role, p.role AS room_role, m.joined_at, md5(m.user_id) AS tie
    FROM channel_members m LEFT JOIN participants p ON p.tenant_id = m.tenant_id AND p.room_id = m.channel_id AND p.user_id = m.user_id AND p.state = 'joined'
    WHERE m.tenant_id = @tenant_id AND m.channel_id = @channel_id AND m.joined_at IS NOT NULL AND m.left_at IS NULL AND NOT m.banned
      AND (m.joined_at, md5(m.user_id)) > (@after::timestamptz, @after_tie::text) AND (p.joined_at IS NULL OR p.joined_at >= m.joined_at)
    ORDER BY m.joined_at, md5(m.user_id) LIMIT @max_rows
), present AS (
    SELECT p.user_id, m.role AS member_role, p.role AS room_role, p.joined_at, md5(p.user_id) AS tie
    FROM participants p LEFT JOIN channel_members m ON m.tenant_id = p.tenant_id AND m.channel_id = p.room_id AND m.user_id = p.user_id
        AND m.joined_at IS NOT NULL AND m.left_at IS NULL
    WHERE p.tenant_id = @tenant_id AND p.room_id = @channel_id AND p.state = 'joined' AND p.joined_at IS NOT NULL
      AND (p.joined_at, md5(p.user_id)) > (@after::timestamptz, @after_tie::text) AND (m.joined_at IS NULL OR m.joined_at > p.joined_at)
      AND NOT EXISTS (SELECT 1 FROM channel_members b WHERE b.tenant_id = p.tenant_id AND b.channel_id = p.room_id AND b.user_id = p.user_id AND b.banned)
    ORDER BY p.joined_at, md5(p.user_id) LIMIT @max_rows
), page AS (
    SELECT * FROM invited UNION ALL SELECT * FROM present
)
SELECT g.user_id, (CASE WHEN array_position(ARRAY['host', 'cohost', 'guest', 'viewer'], g.member_role)
        <= array_position(ARRAY['host', 'cohost', 'guest', 'viewer'], g.room_role) OR g.room_role IS NULL THEN g.member_role ELSE g.room_role END)::text AS role,
    g.joined_at::timestamptz AS joined_at, g.tie::text AS tie, m.timed_out_until, coalesce(m.muted, false)::boolean AS muted,
    clock_timestamp()::timestamptz AS now
FROM page g LEFT JOIN channel_members m ON m.tenant_id = @tenant_id AND m.channel_id = @channel_id AND m.user_id = g.user_id
ORDER BY g.joined_at, g.tie LIMIT @max_rows;

-- name: AddChannelMembers :exec
-- Inserts rows only for users who have none.
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at)
SELECT @channel_id, unnest(@user_ids::text[]), @tenant_id, unnest(@roles::text[]), unnest(@joined_ats::timestamptz[]);

-- name: SetChannelMember :exec
-- Inserts or updates all columns of a membership.
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at, left_at, timed_out_until, muted, banned)
VALUES (@channel_id, @user_id, @tenant_id, @role, @joined_at, @left_at, @timed_out_until, @muted, @banned)
ON CONFLICT (channel_id, user_id) DO UPDATE SET role = excluded.role, joined_at = excluded.joined_at, left_at = excluded.left_at,
    timed_out_until = excluded.timed_out_until, muted = excluded.muted, banned = excluded.banned;

-- name: SetWrote :exec
-- Stores when authors wrote last, for slow mode. Authors who are not members get the lowest role and no time of joining.
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, wrote_at)
SELECT @channel_id, u.user_id, @tenant_id, 'viewer', @now::timestamptz FROM unnest(@user_ids::text[]) AS u (user_id)
ON CONFLICT (channel_id, user_id) DO UPDATE SET wrote_at = excluded.wrote_at;

-- name: RecallWrote :exec
-- Used when slow mode begins: stores when users wrote last, according to the channel's last messages.
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, wrote_at)
SELECT @channel_id, l.author_id, @tenant_id, 'viewer', least(max(l.created_at), @now::timestamptz) FROM (
    SELECT n.author_id, n.created_at FROM channel_messages n WHERE n.tenant_id = @tenant_id AND n.channel_id = @channel_id
    ORDER BY n.id DESC LIMIT @max_rows) l
WHERE l.created_at > @since::timestamptz GROUP BY l.author_id
ON CONFLICT (channel_id, user_id) DO UPDATE SET wrote_at = excluded.wrote_at;

-- name: CreateModeration :one
INSERT INTO channel_moderation (id, channel_id, tenant_id, kind, target, by_user, reason, active, expires_at, slowmode_sec, created_at)
VALUES (@id, @channel_id, @tenant_id, @kind, @target, @by_user, @reason, @active, @expires_at, @slowmode_sec, @now) RETURNING *;

-- name: ListModeration :many
SELECT * FROM channel_moderation
WHERE tenant_id = @tenant_id AND channel_id = @channel_id AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: ListChannelRestrictions :many
-- The restrictions that apply now, newest first. Reads a page of each kind, because the index channel_restrictions_page_idx begins
-- with channel and kind.
SELECT m.* FROM unnest(@kinds::text[]) AS k (kind)
CROSS JOIN LATERAL (
    SELECT r.id FROM channel_restrictions r
    WHERE r.tenant_id = @tenant_id AND r.channel_id = @channel_id AND r.kind = k.kind AND r.id COLLATE "C" < @before::text
      AND (r.expires_at IS NULL OR r.expires_at > clock_timestamp())
    ORDER BY r.id COLLATE "C" DESC LIMIT @max_rows
) page JOIN channel_moderation m ON m.id = page.id WHERE m.tenant_id = @tenant_id
ORDER BY m.id DESC LIMIT @max_rows;

-- name: ListChannelRestrictionsOfUsers :many
-- As ListChannelRestrictions, for some users.
SELECT m.* FROM channel_restrictions r JOIN channel_moderation m ON m.id = r.id
WHERE r.tenant_id = @tenant_id AND r.channel_id = @channel_id AND r.user_id = ANY (@user_ids::text[]) AND r.kind = ANY (@kinds::text[])
  AND r.id < @before::text AND (r.expires_at IS NULL OR r.expires_at > clock_timestamp())
ORDER BY r.id DESC LIMIT @max_rows;

-- name: DeleteEndedTimeouts :execrows
-- @sqlc-vet-disable tenant
-- Rows of an index of channel_moderation, which keeps the actions: also those of tenants under legal hold.
DELETE FROM channel_restrictions WHERE id = ANY (ARRAY(
    SELECT r.id FROM channel_restrictions r WHERE r.expires_at < @before ORDER BY r.expires_at LIMIT @max_rows));

-- name: DeleteChannelMembersOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_members WHERE (channel_id, user_id) IN (
    SELECT m.channel_id, m.user_id FROM channel_members m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows);

-- name: DeleteChannelModerationOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM channel_moderation WHERE id = ANY (ARRAY(
    SELECT m.id FROM channel_moderation m WHERE m.channel_id = ANY (@ids::text[]) LIMIT @max_rows));

-- name: DeletePinsOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM product_pins WHERE id = ANY (ARRAY(
    SELECT p.id FROM product_pins p WHERE p.room_id = ANY (@ids::text[]) LIMIT @max_rows));

-- name: DeleteChannelsOfSessions :many
-- @sqlc-vet-disable tenant
-- The sessions are locked. Waits for transactions that write in these channels; the next statement sees their rows.
WITH members AS (DELETE FROM channel_members WHERE channel_id = ANY (@ids::text[]))
DELETE FROM channels WHERE id = ANY (@ids::text[]) RETURNING tenant_id, id;

-- name: DeleteChatOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked and no longer have channels.
WITH messages AS (DELETE FROM channel_messages WHERE channel_id = ANY (@ids::text[])),
    moderation AS (DELETE FROM channel_moderation WHERE channel_id = ANY (@ids::text[]))
DELETE FROM product_pins WHERE room_id = ANY (@ids::text[]);
