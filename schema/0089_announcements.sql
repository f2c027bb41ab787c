-- +goose Up
-- News for tenants. A published announcement whose expires_at has passed counts as ARCHIVED, without a change of its row.
CREATE TABLE announcements (
    id           text PRIMARY KEY,
    title        text NOT NULL,
    body         text NOT NULL,
    severity     text NOT NULL CHECK (severity IN ('INFO', 'WARNING', 'CRITICAL')),
    status       text NOT NULL DEFAULT 'DRAFT' CHECK (status IN ('DRAFT', 'PUBLISHED', 'ARCHIVED')),
    -- Tiers of plans; empty for all.
    audience     text[] NOT NULL,
    send_mail    boolean NOT NULL,
    -- The last tenant whose users were mailed; null before the first. All greater ids follow.
    mailed_until text,
    published_at timestamptz,
    expires_at   timestamptz,
    archived_at  timestamptz,
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
CREATE INDEX announcements_created_idx ON announcements (created_at, id);
CREATE INDEX announcements_published_idx ON announcements (id) WHERE status = 'PUBLISHED';

-- Announcements that a user doesn't want to see again.
CREATE TABLE announcement_dismissals (
    user_id         text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    announcement_id text NOT NULL REFERENCES announcements (id) ON DELETE CASCADE,
    tenant_id       text NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (user_id, announcement_id)
);
CREATE INDEX announcement_dismissals_announcement_idx ON announcement_dismissals (announcement_id);
