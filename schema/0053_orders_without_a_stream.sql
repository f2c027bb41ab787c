-- +goose Up
-- Null for an order that isn't made in a stream. Servers of the previous version create no such order, and fail to read one
-- (CHANGELOG.md).
SET LOCAL lock_timeout = '200ms'; -- or orders would wait behind this statement; Migrate repeats it
ALTER TABLE orders ALTER COLUMN stream_id DROP NOT NULL;
