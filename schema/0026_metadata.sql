-- +goose Up

-- What tenants keep with their objects: a JSON object of strings, see internal/metadata.
ALTER TABLE streams ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
ALTER TABLE orders ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
