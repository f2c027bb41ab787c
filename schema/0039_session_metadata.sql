-- +goose Up

-- The tenant's own pairs: a JSON object of strings, see internal/metadata.
ALTER TABLE sessions ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
