-- +goose Up
SET LOCAL lock_timeout = '150ms'; -- or writers would wait behind these locks; Migrate repeats it. Five waits are shorter than deadlock_timeout.

-- Kept numbers of rows (see 0048) by status, of one tenant and of all: the keys are '<tenant>/<status>' and '/<status>'. TG_ARGV[0] is
-- the scope. The scope 'recordings' of 0092 counts READY ones only.
-- +goose StatementBegin
CREATE FUNCTION count_by_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO row_count_changes (scope, key, n)
        VALUES (TG_ARGV[0], OLD.tenant_id || '/' || OLD.status, -1), (TG_ARGV[0], '/' || OLD.status, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO row_count_changes (scope, key, n)
        VALUES (TG_ARGV[0], NEW.tenant_id || '/' || NEW.status, 1), (TG_ARGV[0], '/' || NEW.status, 1);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Streams and stream keys of all tenants: scopes of their own, 'all_streams' and so on, because servers of the former version sum all keys
-- of 'streams'. A stream that was on air before its row was written, as in a copy of rows, counts as aired too.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH counted AS (
        SELECT 'streams' AS scope, tenant_id, count(*) * TG_ARGV[0]::integer AS n FROM changed GROUP BY 2
        UNION ALL
        SELECT 'aired_streams', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed WHERE status <> 'IDLE' GROUP BY 2
    )
    INSERT INTO row_count_changes (scope, key, n)
    SELECT scope, tenant_id, n FROM counted UNION ALL SELECT 'all_' || scope, '', sum(n) FROM counted GROUP BY scope;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_stream_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WITH counted AS (
        SELECT 'stream_keys' AS scope, tenant_id, count(*) * TG_ARGV[0]::integer AS n FROM changed GROUP BY 2
        UNION ALL
        SELECT 'used_stream_keys', tenant_id, count(*) * TG_ARGV[0]::integer FROM changed WHERE consumed_at IS NOT NULL GROUP BY 2
    )
    INSERT INTO row_count_changes (scope, key, n)
    SELECT scope, tenant_id, n FROM counted UNION ALL SELECT 'all_' || scope, '', sum(n) FROM counted GROUP BY scope;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- TG_ARGV[0] is the scope.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) VALUES (TG_ARGV[0], NEW.tenant_id, 1), ('all_' || TG_ARGV[0], '', 1);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Reads no rows: 0103 counts the existing ones.
LOCK TABLE streams, stream_keys, recordings, subscriptions, invoices IN SHARE ROW EXCLUSIVE MODE;
CREATE TRIGGER recordings_counted AFTER INSERT OR DELETE ON recordings
    FOR EACH ROW EXECUTE FUNCTION count_by_status('recordings_by_status');
CREATE TRIGGER recordings_recounted AFTER UPDATE OF status ON recordings FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('recordings_by_status');
CREATE TRIGGER subscriptions_counted AFTER INSERT OR DELETE ON subscriptions
    FOR EACH ROW EXECUTE FUNCTION count_by_status('subscriptions_by_status');
CREATE TRIGGER subscriptions_recounted AFTER UPDATE OF status ON subscriptions FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('subscriptions_by_status');
CREATE TRIGGER invoices_counted AFTER INSERT OR DELETE ON invoices
    FOR EACH ROW EXECUTE FUNCTION count_by_status('invoices_by_status');
CREATE TRIGGER invoices_recounted AFTER UPDATE OF status ON invoices FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('invoices_by_status');
