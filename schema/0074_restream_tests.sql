-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- The time until which a test of the target may be connected to it; NULL for none. No route to it is opened meanwhile: most platforms refuse a
-- second publisher with the same key.
ALTER TABLE restream_targets ADD COLUMN test_until timestamptz;
