-- +goose Up
-- For events of given names in order, even if they are rare among the tenant's events.
CREATE INDEX events_named_idx ON events (tenant_id, event, position) WHERE endpoint_id IS NULL;
DROP INDEX events_name_idx; -- no query reads by name and time
