-- +goose Up

-- The channel of a stream or session has the same id as the stream or session. Its row
-- is created with the first value to store; until then the defaults apply.
CREATE TABLE channels (
    id              text PRIMARY KEY,
    tenant_id       text NOT NULL REFERENCES tenants (id),
    kind            text NOT NULL CHECK (kind IN ('stream', 'session', 'group', 'direct')),
    -- Null for the channel of a stream or session, which has their name and project.
    name            text,
    project_id      text,
    -- The two users of a direct channel, the smaller id first.
    direct_user_ids text[],
    slowmode_sec    integer NOT NULL DEFAULT 0,
    -- Each message has a greater id and time than the one before, even if different
    -- processes write them.
    last_message_id text,
    last_message_at timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CHECK ((kind = 'direct') = (direct_user_ids IS NOT NULL))
);
CREATE INDEX channels_tenant_idx ON channels (tenant_id, id DESC) WHERE kind IN ('group', 'direct');
CREATE UNIQUE INDEX channels_direct_key ON channels (tenant_id, coalesce(project_id, ''), direct_user_ids) WHERE kind = 'direct';

-- Members, and users with restrictions. Participants in the room of a session or
-- stream are members of its channel without a row.
CREATE TABLE channel_members (
    channel_id      text NOT NULL REFERENCES channels (id),
    user_id         text NOT NULL,
    tenant_id       text NOT NULL REFERENCES tenants (id),
    role            text NOT NULL CHECK (role IN ('host', 'cohost', 'guest', 'viewer')),
    joined_at       timestamptz,
    left_at         timestamptz,
    timed_out_until timestamptz,
    muted           boolean NOT NULL DEFAULT false,
    banned          boolean NOT NULL DEFAULT false,
    -- Time of the member's last message, for slow mode.
    wrote_at        timestamptz,
    PRIMARY KEY (channel_id, user_id)
);
CREATE INDEX channel_members_user_idx ON channel_members (tenant_id, user_id);

CREATE TABLE channel_messages (
    id          text PRIMARY KEY,
    channel_id  text NOT NULL,
    tenant_id   text NOT NULL REFERENCES tenants (id),
    author_id   text NOT NULL,
    author_name text NOT NULL,
    -- Null after deletion; attachments are deleted too.
    body        text,
    parent_id   text,
    mentions    text[] NOT NULL DEFAULT '{}',
    attachments jsonb,
    created_at  timestamptz NOT NULL,
    edited_at   timestamptz,
    redacted_at timestamptz,
    redacted_by text
);
CREATE INDEX channel_messages_channel_idx ON channel_messages (channel_id, id);
CREATE INDEX channel_messages_created_idx ON channel_messages (channel_id, created_at, id);

CREATE TABLE channel_moderation (
    id           text PRIMARY KEY,
    channel_id   text NOT NULL,
    tenant_id    text NOT NULL REFERENCES tenants (id),
    kind         text NOT NULL CHECK (kind IN ('timeout', 'ban', 'mute', 'slowmode')),
    target       text,
    by_user      text NOT NULL,
    reason       text,
    active       boolean NOT NULL,
    expires_at   timestamptz,
    slowmode_sec integer,
    created_at   timestamptz NOT NULL
);
CREATE INDEX channel_moderation_channel_idx ON channel_moderation (channel_id, id DESC);

-- Products that hosts have pinned, for a recording's timeline.
CREATE TABLE product_pins (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    room_id    text NOT NULL,
    product_id text NOT NULL,
    pinned_by  text NOT NULL,
    pinned_at  timestamptz NOT NULL
);
CREATE INDEX product_pins_room_idx ON product_pins (room_id, pinned_at);
