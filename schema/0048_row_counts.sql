-- +goose Up
-- Kept numbers of rows for the totals of lists: a sum, and the changes since. Triggers write a change in the transaction that
-- makes it, as a row of its own, so that no transaction waits for another. A job adds the changes to the sums (sums.AddRowCounts).
-- scope and key: 'streams' and 'team' (users and invitations) by tenant, 'team' with '' for all tenants, and 'tenants' by
-- status, a slash and plan.
CREATE TABLE row_counts (
    scope text NOT NULL,
    key   text NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE TABLE row_count_changes (
    scope text NOT NULL,
    key   text NOT NULL,
    n     bigint NOT NULL
);
CREATE INDEX row_count_changes_idx ON row_count_changes (scope, key);
CREATE VIEW row_numbers AS
SELECT scope, key, n FROM row_counts
UNION ALL
SELECT scope, key, n FROM row_count_changes;

-- TG_ARGV[0] is the sign.
-- +goose StatementBegin
CREATE FUNCTION count_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) SELECT 'streams', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed GROUP BY 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'team', coalesce(tenant_id, ''), count(*) * TG_ARGV[0]::integer FROM changed GROUP BY GROUPING SETS ((tenant_id), ()) HAVING count(*) > 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_tenants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'tenants', status || '/' || plan, count(*) * TG_ARGV[0]::integer FROM changed GROUP BY 2;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION recount_tenants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'tenants', c.key, sum(c.n) FROM (
        SELECT status || '/' || plan AS key, 1 AS n FROM changed UNION ALL SELECT status || '/' || plan, -1 FROM before
    ) c GROUP BY 2 HAVING sum(c.n) <> 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- No row may come or go between the count and the triggers. While a lock waits for writers, all later writers wait behind it,
-- so it waits briefly and is tried again (postgres.Migrate). The four waits together are shorter than PostgreSQL's
-- deadlock_timeout of 1 s. So if a writer has one of the tables and needs another, the migration fails, not the writer.
SET LOCAL lock_timeout = '200ms';
LOCK TABLE tenants, users, invitations, streams IN SHARE ROW EXCLUSIVE MODE;
CREATE TRIGGER streams_made AFTER INSERT ON streams REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_streams('1');
CREATE TRIGGER streams_gone AFTER DELETE ON streams REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_streams('-1');
CREATE TRIGGER users_made AFTER INSERT ON users REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_team('1');
CREATE TRIGGER users_gone AFTER DELETE ON users REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_team('-1');
CREATE TRIGGER invitations_made AFTER INSERT ON invitations REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_team('1');
CREATE TRIGGER invitations_gone AFTER DELETE ON invitations REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_team('-1');
CREATE TRIGGER tenants_made AFTER INSERT ON tenants REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_tenants('1');
CREATE TRIGGER tenants_gone AFTER DELETE ON tenants REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_tenants('-1');
CREATE TRIGGER tenants_changed AFTER UPDATE ON tenants REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION recount_tenants();
INSERT INTO row_counts (scope, key, n)
SELECT 'streams', tenant_id, count(*) FROM streams GROUP BY 2
UNION ALL
SELECT 'team', coalesce(tenant_id, ''), count(*) FROM team_members GROUP BY GROUPING SETS ((tenant_id), ()) HAVING count(*) > 0
UNION ALL
SELECT 'tenants', status || '/' || plan, count(*) FROM tenants GROUP BY 2;
