-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or moderation would wait behind the lock; Migrate repeats it
-- The restrictions that apply now, and timeouts that have ended since the last DeleteOld. A row has the id of the user's newest action of
-- its kind. Reason, moderator and time are in that action, whose target is user_id here. Tenants aren't referenced: the check would lock
-- their table until the commit.
CREATE TABLE channel_restrictions (
    id         text PRIMARY KEY REFERENCES channel_moderation (id) ON DELETE CASCADE,
    tenant_id  text NOT NULL,
    channel_id text NOT NULL,
    kind       text NOT NULL CHECK (kind IN ('timeout', 'ban', 'mute')),
    user_id    text NOT NULL,
    expires_at timestamptz,
    UNIQUE (channel_id, user_id, kind)
);
-- The collation keeps the planner from reading the list by the primary key, past the rows of other channels and kinds.
CREATE INDEX channel_restrictions_page_idx ON channel_restrictions (channel_id, kind, id COLLATE "C" DESC);
CREATE INDEX channel_restrictions_expires_idx ON channel_restrictions (expires_at) WHERE expires_at IS NOT NULL;

-- A trigger, so that actions on servers of the former version count too. The channel is locked, so the actions in it follow each other.
-- +goose StatementBegin
CREATE FUNCTION keep_channel_restriction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- A comparison that no index has, or a plan made for an empty table would find the user's rows among all of the channel and kind.
    DELETE FROM channel_restrictions WHERE channel_id = NEW.channel_id AND user_id = NEW.target AND kind || '' = NEW.kind;
    IF NEW.active THEN
        INSERT INTO channel_restrictions (id, tenant_id, channel_id, kind, user_id, expires_at)
        VALUES (NEW.id, NEW.tenant_id, NEW.channel_id, NEW.kind, NEW.target, NEW.expires_at);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER channel_moderation_made AFTER INSERT ON channel_moderation FOR EACH ROW
    WHEN (NEW.kind <> 'slowmode') EXECUTE FUNCTION keep_channel_restriction();

-- The restrictions before this migration. The lock of CREATE TRIGGER keeps moderators away until the commit, so nothing is missed.
INSERT INTO channel_restrictions (id, tenant_id, channel_id, kind, user_id, expires_at)
SELECT id, tenant_id, channel_id, kind, target, expires_at FROM (
    SELECT DISTINCT ON (channel_id, target, kind) * FROM channel_moderation
    WHERE kind <> 'slowmode' ORDER BY channel_id, target, kind, created_at DESC, id DESC
) newest WHERE active AND (expires_at IS NULL OR expires_at > now());
