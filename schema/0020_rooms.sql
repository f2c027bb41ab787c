-- +goose Up

-- Sessions: conferences, webinars, interactive livestreams, calls.
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
    -- In the order of the invitations.
    invite_user_ids       text[] NOT NULL DEFAULT '{}',
    state                 text NOT NULL CHECK (state IN ('waiting', 'live', 'ended', 'cancelled')),
    -- Breakout rooms only.
    parent_session_id     text REFERENCES sessions (id),
    -- Number of this room among its parent's breakout rooms, from 1.
    breakout_number       integer,
    -- Seats that are held or taken; participants.seat shows by which participant. Changed
    -- only under this row's lock.
    seats                 integer NOT NULL DEFAULT 0 CHECK (seats >= 0),
    -- Number of joined participants. Changed only under this row's lock.
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

-- Users who were invited to a room, are in it, or were in it. The room is a session's
-- or a stream's, so room_id has no foreign key.
CREATE TABLE participants (
    room_id            text NOT NULL,
    user_id            text NOT NULL,
    tenant_id          text NOT NULL REFERENCES tenants (id),
    -- Order of the participants in lists.
    position           bigint GENERATED ALWAYS AS IDENTITY,
    display_name       text,
    role               text NOT NULL CHECK (role IN ('host', 'cohost', 'guest', 'viewer')),
    can_publish_screen boolean NOT NULL,
    state              text NOT NULL CHECK (state IN ('invited', 'waiting', 'joined', 'left', 'kicked')),
    -- Has passed the waiting room.
    admitted           boolean NOT NULL DEFAULT false,
    -- none; held: reserved, counts in sessions.seats until seat_until; taken: used by a connection.
    seat               text NOT NULL DEFAULT 'none' CHECK (seat IN ('none', 'held', 'taken')),
    seat_until         timestamptz,
    -- Muted by a moderator or by the participant.
    muted              boolean NOT NULL DEFAULT false,
    hand_raised_at     timestamptz,
    -- The current connection, and the process that holds it; null without one.
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

-- The node of each room. The rooms of a dead node move to the node that receives the
-- next request for them.
CREATE TABLE room_placements (
    room_id   text PRIMARY KEY,
    tenant_id text NOT NULL REFERENCES tenants (id),
    node_id   text NOT NULL,
    placed_at timestamptz NOT NULL
);
CREATE INDEX room_placements_node_idx ON room_placements (node_id);

-- The WebSocket address of the node's SFU, null without one, and the number of its
-- participants.
ALTER TABLE nodes ADD COLUMN sfu_url text, ADD COLUMN participants integer NOT NULL DEFAULT 0;

-- room: a host's browser publishes the stream through its room.
ALTER TABLE publishers DROP CONSTRAINT publishers_source_check;
ALTER TABLE publishers ADD CONSTRAINT publishers_source_check CHECK (source IN ('rtmp', 'srs', 'webrtc'));

-- Columns that calls have in addition to their session.
CREATE TABLE calls (
    session_id        text PRIMARY KEY REFERENCES sessions (id),
    tenant_id         text NOT NULL REFERENCES tenants (id),
    kind              text NOT NULL CHECK (kind IN ('voice', 'video')),
    from_user_id      text NOT NULL,
    from_display_name text,
    to_user_id        text NOT NULL CHECK (to_user_id <> from_user_id),
    ring_expires_at   timestamptz NOT NULL,
    -- Reason of the cancellation: declined, taken_back or missed.
    cancelled_as      text CHECK (cancelled_as IN ('declined', 'taken_back', 'missed')),
    ended_by          text
);

ALTER TABLE audit_entries DROP CONSTRAINT audit_entries_actor_type_check;
ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_actor_type_check
    CHECK (actor_type IN ('user', 'api_key', 'participant', 'admin', 'system'));
