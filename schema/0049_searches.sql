-- +goose Up
-- The builds wait for writers, and all later writers wait behind them. See postgres.Migrate.
SET LOCAL lock_timeout = '200ms';
-- Indexes for the admins' searches for a part of a text. The extension is part of PostgreSQL's contrib, and the owner of a
-- database may create it. Without it, or without the right, the searches read the whole tables; docs/operation.md says how to
-- add the indexes later.
-- +goose StatementBegin
DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX tenants_search_idx ON tenants USING gin (name gin_trgm_ops, id gin_trgm_ops);
    CREATE INDEX users_search_idx ON users USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops);
    CREATE INDEX invitations_search_idx ON invitations USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
    RAISE NOTICE 'no indexes for searches: %', SQLERRM;
END $$;
-- +goose StatementEnd
