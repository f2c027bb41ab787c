-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or writers would wait behind these locks; Migrate repeats it

-- Kept numbers of rows (see 0048) by status, of one tenant and of all: the keys are '<tenant>/<status>' and '/<status>'. TG_ARGV[0] is
-- the scope.
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

-- Streams and stream keys: the key '' has the number of all tenants. A stream that was on air before its row was written, as in a copy of
-- rows, counts as aired too.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_streams() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'streams', coalesce(tenant_id, ''), count(*) * TG_ARGV[0]::integer FROM changed GROUP BY GROUPING SETS ((tenant_id), ())
    HAVING count(*) > 0
    UNION ALL
    SELECT 'aired_streams', coalesce(tenant_id, ''), count(*) * TG_ARGV[0]::integer FROM changed WHERE status <> 'IDLE'
    GROUP BY GROUPING SETS ((tenant_id), ()) HAVING count(*) > 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_stream_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n)
    SELECT 'stream_keys', coalesce(tenant_id, ''), count(*) * TG_ARGV[0]::integer FROM changed GROUP BY GROUPING SETS ((tenant_id), ())
    HAVING count(*) > 0
    UNION ALL
    SELECT 'used_stream_keys', coalesce(tenant_id, ''), count(*) * TG_ARGV[0]::integer FROM changed WHERE consumed_at IS NOT NULL
    GROUP BY GROUPING SETS ((tenant_id), ()) HAVING count(*) > 0;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- TG_ARGV[0] is the scope.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION count_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO row_count_changes (scope, key, n) VALUES (TG_ARGV[0], NEW.tenant_id, 1), (TG_ARGV[0], '', 1);
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- No row may be written between the new triggers and the numbers of the existing rows.
LOCK TABLE streams, stream_keys, recordings, subscriptions, invoices IN SHARE ROW EXCLUSIVE MODE;
CREATE TRIGGER recording_rows_made AFTER INSERT OR DELETE ON recordings FOR EACH ROW EXECUTE FUNCTION count_by_status('recording_rows');
CREATE TRIGGER recording_rows_changed AFTER UPDATE OF status ON recordings FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('recording_rows');
CREATE TRIGGER subscriptions_made AFTER INSERT OR DELETE ON subscriptions FOR EACH ROW EXECUTE FUNCTION count_by_status('subscriptions');
CREATE TRIGGER subscriptions_changed AFTER UPDATE OF status ON subscriptions FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('subscriptions');
CREATE TRIGGER invoices_made AFTER INSERT OR DELETE ON invoices FOR EACH ROW EXECUTE FUNCTION count_by_status('invoices');
CREATE TRIGGER invoices_changed AFTER UPDATE OF status ON invoices FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_by_status('invoices');
WITH counted AS (
    SELECT 'recording_rows' AS scope, tenant_id, status, count(*) AS n FROM recordings GROUP BY 2, 3
    UNION ALL
    SELECT 'subscriptions', tenant_id, status, count(*) FROM subscriptions GROUP BY 2, 3
    UNION ALL
    SELECT 'invoices', tenant_id, status, count(*) FROM invoices GROUP BY 2, 3
)
INSERT INTO row_counts (scope, key, n)
SELECT scope, coalesce(tenant_id, '') || '/' || status, sum(n) FROM counted GROUP BY GROUPING SETS ((scope, tenant_id, status), (scope, status))
UNION ALL
SELECT scope, '', sum(n) FROM row_numbers WHERE scope IN ('streams', 'aired_streams', 'stream_keys', 'used_stream_keys') GROUP BY scope;
