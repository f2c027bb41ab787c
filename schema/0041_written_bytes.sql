-- +goose Up

-- Bytes per hour in requests that store data that can wait: x-stores in the API document.
-- At least 8 MiB, so that the largest request has room.
ALTER TABLE plans ADD COLUMN max_written_bytes bigint CHECK (max_written_bytes >= 8388608);

UPDATE plans SET max_written_bytes = CASE tier
    WHEN 'FREE' THEN 128 * 1048576::bigint
    WHEN 'STARTER' THEN 512 * 1048576::bigint
    WHEN 'PRO' THEN 4096 * 1048576::bigint
    END;
