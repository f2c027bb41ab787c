-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Files that were made of a READY recording.
ALTER TABLE recordings
    -- When it was made; NULL until then.
    ADD COLUMN assets_at timestamptz,
    ADD COLUMN has_poster boolean NOT NULL DEFAULT false,
    ADD COLUMN has_storyboard boolean NOT NULL DEFAULT false,
    ADD COLUMN has_mp4 boolean NOT NULL DEFAULT false,
    -- An admin has set retain_until, perhaps to NULL, so the plan doesn't change it.
    ADD COLUMN retention_set boolean NOT NULL DEFAULT false;
