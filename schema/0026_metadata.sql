-- +goose Up

-- Tenants' own data of their objects: a JSON object of strings, see internal/base/metadata.
ALTER TABLE streams ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
ALTER TABLE orders ADD COLUMN metadata jsonb NOT NULL DEFAULT '{}';
