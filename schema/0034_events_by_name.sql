-- +goose Up
-- The events of some names in their order, however rare they are among the tenant's.
CREATE INDEX events_named_idx ON events (tenant_id, event, position) WHERE endpoint_id IS NULL;
DROP INDEX events_name_idx; -- no query reads by name and time
