-- +goose Up
SET LOCAL lock_timeout = '200ms';

-- Codes that were dropped are shown to all viewers of their stream; a code that was created for some of them isn't.
ALTER TABLE discounts ADD COLUMN dropped boolean NOT NULL DEFAULT false;
