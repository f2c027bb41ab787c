-- +goose Up
-- The extension for the admins' searches for a part of a text. It is part of PostgreSQL's contrib, and the owner of a database
-- may create it. With it, postgres.Migrate adds the indexes; without it, or without the right, the searches read whole tables.
-- +goose StatementBegin
DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    RAISE NOTICE 'extension pg_trgm not created, searches read whole tables: %', SQLERRM;
END $$;
-- +goose StatementEnd
