-- +goose Up

-- A sync of the catalog writes 500 or more events in one statement. The foreign key was
-- checked for each, which took half of the time of writing them. Tenants are never
-- deleted, and every transaction that emits has just changed a row of the tenant.
ALTER TABLE events DROP CONSTRAINT events_tenant_id_fkey;
