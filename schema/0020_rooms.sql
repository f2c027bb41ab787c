-- +goose Up

-- Rooms where people talk: conferences, webinars, interactive livestreams, calls.
CREATE TABLE sessions (
    id                    text PRIMARY KEY,
    tenant_id             text NOT NULL REFERENCES tenants (id),
    type                  text NOT NULL CHECK (type IN ('conference', 'webinar', 'livestream', 'call')),
    name                  text NOT NULL,
    project_id            text,
    host_id               text NOT NULL,
    capacity              integer NOT NULL CHECK (capacity >= 2),
    recording_enabled     boolean NOT NULL DEFAULT false,
    transcription_enabled boolean NOT NULL DEFAULT false,
    waiting_room          boolean NOT NULL DEFAULT false,
    locked                boolean NOT NULL DEFAULT false,
    layout                text NOT NULL CHECK (layout IN ('grid', 'speaker', 'sidebar', 'spotlight')),
    spotlight_user_id     text,
    -- In the order of their invitation.
    invite_user_ids       text[] NOT NULL DEFAULT '{}',
    state                 text NOT NULL CHECK (state IN ('waiting', 'live', 'ended', 'cancelled')),
    -- Breakout rooms only.
    parent_session_id     text REFERENCES sessions (id),
    -- Which of its parent's breakout rooms it is, from 1.
    breakout_number       integer,
    -- Seats that are taken, by those inside and by those who may come (back) in
    -- time; participants.seat says by whom. Changed under this row's lock only.
    seats                 integer NOT NULL DEFAULT 0 CHECK (seats >= 0),
    -- How many participants are joined. Changed under this row's lock only.
    present               integer NOT NULL DEFAULT 0 CHECK (present >= 0),
    summary               jsonb,
    summary_at            timestamptz,
    started_at            timestamptz,
    ended_at              timestamptz,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
);
CREATE INDEX sessions_tenant_idx ON sessions (tenant_id, id DESC);
CREATE INDEX sessions_tenant_type_idx ON sessions (tenant_id, type, id DESC);
CREATE INDEX sessions_tenant_created_idx ON sessions (tenant_id, created_at);
CREATE INDEX sessions_live_calls_idx ON sessions (started_at) WHERE type = 'call' AND state = 'live';
CREATE INDEX sessions_open_idx ON sessions (tenant_id) WHERE state IN ('waiting', 'live');
CREATE INDEX sessions_parent_idx ON sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;

-- Who was invited to a room, is in it or was: a session's, or a stream's, which
-- is why room_id references neither.
CREATE TABLE participants (
    room_id            text NOT NULL,
    user_id            text NOT NULL,
    tenant_id          text NOT NULL REFERENCES tenants (id),
    -- Lists show them in this order.
    position           bigint GENERATED ALWAYS AS IDENTITY,
    display_name       text,
    role               text NOT NULL CHECK (role IN ('host', 'cohost', 'guest', 'viewer')),
    can_publish_screen boolean NOT NULL,
    state              text NOT NULL CHECK (state IN ('invited', 'waiting', 'joined', 'left', 'kicked')),
    -- Has passed the waiting room.
    admitted           boolean NOT NULL DEFAULT false,
    -- none; held: counts in sessions.seats until seat_until; taken: by a connection.
    seat               text NOT NULL DEFAULT 'none' CHECK (seat IN ('none', 'held', 'taken')),
    seat_until         timestamptz,
    -- Isn't heard: muted by a moderator or by itself.
    muted              boolean NOT NULL DEFAULT false,
    hand_raised_at     timestamptz,
    -- The one connection that counts, and the process that holds it; null without one.
    conn_id            text,
    node               text,
    joined_at          timestamptz,
    left_at            timestamptz,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    PRIMARY KEY (room_id, user_id),
    CHECK ((seat = 'held') = (seat_until IS NOT NULL))
);
CREATE UNIQUE INDEX participants_position_idx ON participants (room_id, position);
CREATE INDEX participants_held_idx ON participants (room_id, seat_until) WHERE seat = 'held';
CREATE INDEX participants_old_idx ON participants (updated_at) WHERE room_id LIKE 'str\_%';
CREATE INDEX participants_node_idx ON participants (node) WHERE conn_id IS NOT NULL;

-- Where a room's media is. A node that is gone loses its rooms to whoever is
-- asked next.
CREATE TABLE room_placements (
    room_id   text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants (id),
    node_id   text NOT NULL,
    placed_at timestamptz NOT NULL
);
CREATE INDEX room_placements_node_idx ON room_placements (node_id);

-- The WebSocket address of the node's SFU, null without one, and how many
-- participants it carries.
ALTER TABLE nodes ADD COLUMN sfu_url text, ADD COLUMN participants integer NOT NULL DEFAULT 0;

-- A host's browser publishes a stream through its room.
ALTER TABLE publishers DROP CONSTRAINT publishers_source_check;
ALTER TABLE publishers ADD CONSTRAINT publishers_source_check CHECK (source IN ('rtmp', 'srs', 'webrtc'));

-- What calls have besides their session.
CREATE TABLE calls (
    session_id        text PRIMARY KEY REFERENCES sessions (id),
    tenant_id         text NOT NULL REFERENCES tenants (id),
    kind              text NOT NULL CHECK (kind IN ('voice', 'video')),
    from_user_id      text NOT NULL,
    from_display_name text,
    to_user_id        text NOT NULL CHECK (to_user_id <> from_user_id),
    ring_expires_at   timestamptz NOT NULL,
    -- Why it was cancelled: declined, taken_back or missed.
    cancelled_as      text CHECK (cancelled_as IN ('declined', 'taken_back', 'missed')),
    ended_by          text
);

ALTER TABLE audit_entries DROP CONSTRAINT audit_entries_actor_type_check;
ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_actor_type_check
    CHECK (actor_type IN ('user', 'api_key', 'participant', 'admin', 'system'));
