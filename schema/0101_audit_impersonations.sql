-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or all writers of the audit log would wait behind a long reader; Migrate repeats it
-- The impersonation that an entry begins, belongs to or ends: the id of its token. Entries of former versions have none.
ALTER TABLE audit_entries ADD COLUMN impersonation_id text;
