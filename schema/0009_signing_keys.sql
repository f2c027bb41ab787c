-- +goose Up

-- A retired key verifies no tokens; its private key is deleted, and the row is kept
-- for the record. A revoked key was retired before its time.
ALTER TABLE signing_keys ADD COLUMN revoked_at timestamptz;
