-- +goose Up
-- When a breakout room closes by itself; null for a room that stays open until a request closes it.
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind this statement; Migrate repeats it
ALTER TABLE sessions ADD COLUMN closes_at timestamptz;
