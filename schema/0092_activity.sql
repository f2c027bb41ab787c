-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or writers would wait behind the triggers; Migrate repeats it

-- Adds two lists of counts, element by element. NULL adds nothing.
-- +goose StatementBegin
CREATE FUNCTION add_counts(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN a IS NULL THEN b WHEN b IS NULL THEN a ELSE (
        SELECT array_agg(coalesce(u.x, 0) + coalesce(u.y, 0) ORDER BY u.i) FROM unnest(a, b) WITH ORDINALITY AS u (x, y, i)) END
$$;
-- +goose StatementEnd

-- Calls of the API below /v1/me by tenant, operation and day (UTC). Servers count in memory and add their counts every 10 s
-- (apicall.Service). operation is '' for the sum of a tenant, tenant_id is '' for the sum of an operation.
CREATE TABLE api_call_days (
    tenant_id     text NOT NULL,
    day           timestamptz NOT NULL,
    operation     text NOT NULL,
    calls         bigint NOT NULL,
    client_errors bigint NOT NULL,
    server_errors bigint NOT NULL,
    -- Calls by answer time, one number for each bucket of latency.Counts. Only for the sums of operations.
    took          bigint[],
    last_at       timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, day, operation)
) WITH (fillfactor = 70); -- room for updates in the same page, which then leave the indexes alone
-- The sums of tenants, and the retention.
CREATE INDEX api_call_days_tenants_idx ON api_call_days (day) WHERE operation = '';
CREATE INDEX api_call_days_day_idx ON api_call_days (day);

-- Attempts of webhook deliveries by endpoint and hour, counted like calls of the API. endpoint_id is '' for the sum of all.
CREATE TABLE webhook_attempt_hours (
    hour        timestamptz NOT NULL,
    endpoint_id text NOT NULL,
    attempts    bigint NOT NULL,
    failed      bigint NOT NULL,
    -- Attempts by duration, as in api_call_days. Only for the sum of all.
    took        bigint[],
    PRIMARY KEY (hour, endpoint_id)
) WITH (fillfactor = 70);
CREATE INDEX webhook_attempt_hours_failed_idx ON webhook_attempt_hours (hour) WHERE failed > 0;

-- Numbers of activities that began in each area (PlatformArea of the API). A job adds each closed hour (report.SumActivity).
CREATE TABLE activity_hours (
    area text NOT NULL,
    hour timestamptz NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (area, hour)
);
CREATE TABLE activity_days (
    tenant_id text NOT NULL,
    day       timestamptz NOT NULL,
    area      text NOT NULL,
    n         bigint NOT NULL,
    last_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, day, area)
);
CREATE INDEX activity_days_day_idx ON activity_days (day);

-- The broadcasts of all tenants by day (UTC). live and watched are seconds.
CREATE TABLE stream_days (
    day          timestamptz PRIMARY KEY,
    peak_streams bigint NOT NULL,
    peak_viewers bigint NOT NULL,
    streams      bigint NOT NULL,
    tenants      bigint NOT NULL,
    live         bigint NOT NULL,
    watched      bigint NOT NULL
);
INSERT INTO stream_days (day, peak_streams, peak_viewers, streams, tenants, live, watched)
SELECT day, 0, 0, 0, 0, coalesce(sum(amount) FILTER (WHERE meter = 'STREAM_MINUTES'), 0),
    coalesce(sum(amount) FILTER (WHERE meter = 'VIEWER_MINUTES'), 0)
FROM usage_days WHERE meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES') GROUP BY day;

ALTER TABLE summed_until DROP CONSTRAINT summed_until_name_check;
ALTER TABLE summed_until ADD CONSTRAINT summed_until_name_check CHECK (name IN ('figures', 'audit', 'activity'));
INSERT INTO summed_until (name, until) VALUES ('activity', 'epoch');

-- Kept numbers, as in 0048_row_counts.sql: users by status ('users'), READY recordings ('recordings') and their bytes
-- ('recording_bytes'), both with the key ''. The triggers run for each row, because most updates change neither.
-- +goose StatementBegin
CREATE FUNCTION count_user_statuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO row_count_changes (scope, key, n) VALUES ('users', OLD.status, -1);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO row_count_changes (scope, key, n) VALUES ('users', NEW.status, 1);
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION count_recordings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.status = 'READY' THEN
        INSERT INTO row_count_changes (scope, key, n) VALUES ('recordings', '', -1), ('recording_bytes', '', -coalesce(OLD.size_bytes, 0));
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.status = 'READY' THEN
        INSERT INTO row_count_changes (scope, key, n) VALUES ('recordings', '', 1), ('recording_bytes', '', coalesce(NEW.size_bytes, 0));
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd
LOCK TABLE users, recordings IN SHARE ROW EXCLUSIVE MODE;
CREATE TRIGGER users_status_made AFTER INSERT OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION count_user_statuses();
CREATE TRIGGER users_status_changed AFTER UPDATE OF status ON users FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION count_user_statuses();
CREATE TRIGGER recordings_made AFTER INSERT OR DELETE ON recordings FOR EACH ROW EXECUTE FUNCTION count_recordings();
CREATE TRIGGER recordings_changed AFTER UPDATE OF status, size_bytes ON recordings FOR EACH ROW
    WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.size_bytes IS DISTINCT FROM NEW.size_bytes) EXECUTE FUNCTION count_recordings();
INSERT INTO row_counts (scope, key, n)
SELECT 'users', status, count(*) FROM users GROUP BY status
UNION ALL
SELECT 'recordings', '', count(*) FROM recordings WHERE status = 'READY'
UNION ALL
SELECT 'recording_bytes', '', coalesce(sum(size_bytes), 0) FROM recordings WHERE status = 'READY';

-- Version and start of the process, from a node's heartbeat. Last, so that heartbeats don't wait for the counts.
ALTER TABLE nodes ADD COLUMN version text, ADD COLUMN started_at timestamptz;
