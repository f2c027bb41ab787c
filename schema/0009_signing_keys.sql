-- +goose Up

-- A retired key verifies nothing any more; its private key is wiped then, and
-- the row kept for the record. A revoked one was retired before its time.
ALTER TABLE signing_keys ADD COLUMN revoked_at timestamptz;
