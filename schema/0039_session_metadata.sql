-- +goose Up

-- The tenant's own data: a JSON object of strings, see internal/base/metadata.
ALTER TABLE sessions ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
