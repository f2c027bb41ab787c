-- +goose Up
-- The trigger below waits for writers of audit entries, and all later writers wait behind it. See postgres.Migrate.
SET LOCAL lock_timeout = '200ms';
-- Sums of closed hours, so that figures over time don't read every sample, session and order again. A job writes them
-- (analytics.SumFigures); figures of later hours are computed from the rows themselves.
CREATE TABLE figure_hours (
    tenant_id       text NOT NULL,
    hour            timestamptz NOT NULL,
    -- The most viewers of all streams together in one minute.
    peak_viewers    bigint NOT NULL,
    watched_minutes bigint NOT NULL,
    live_minutes    bigint NOT NULL,
    sessions        bigint NOT NULL,
    PRIMARY KEY (tenant_id, hour)
);

CREATE TABLE sales_hours (
    tenant_id   text NOT NULL,
    hour        timestamptz NOT NULL,
    currency    text NOT NULL,
    orders      bigint NOT NULL,
    total_cents bigint NOT NULL,
    PRIMARY KEY (tenant_id, hour, currency)
);

-- Numbers of audit entries by day, in UTC, for the totals of the admins' list. A job adds each closed hour (audit.CountDays).
CREATE TABLE audit_days (
    day        timestamptz NOT NULL,
    tenant_id  text NOT NULL, -- '' for entries without a tenant
    actor_type text NOT NULL,
    action     text NOT NULL,
    entity     text NOT NULL,
    entries    bigint NOT NULL,
    PRIMARY KEY (tenant_id, day, actor_type, action, entity)
);
CREATE INDEX audit_days_day_idx ON audit_days (day);

-- The time up to which each kind of sum is written. A sum and its mark change in one transaction.
CREATE TABLE summed_until (
    name  text PRIMARY KEY CHECK (name IN ('figures', 'audit')),
    until timestamptz NOT NULL
);
INSERT INTO summed_until (name, until) VALUES ('figures', 'epoch'), ('audit', 'epoch');

-- Retention deletes entries; the numbers of their days follow.
-- +goose StatementBegin
CREATE FUNCTION uncount_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE audit_days d SET entries = greatest(d.entries - o.entries, 0)
    FROM (
        SELECT date_trunc('day', at, 'UTC') AS day, coalesce(tenant_id, '') AS tenant_id, actor_type, action, entity, count(*) AS entries
        FROM deleted GROUP BY 1, 2, 3, 4, 5
    ) o
    WHERE d.day = o.day AND d.tenant_id = o.tenant_id AND d.actor_type = o.actor_type AND d.action = o.action AND d.entity = o.entity;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_entries_uncount AFTER DELETE ON audit_entries
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION uncount_audit_entries();

-- Whether a transaction is open that began before a time and has written anything. Its rows may have times before that.
-- +goose StatementBegin
CREATE FUNCTION older_writes(before timestamptz) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.backend_xid IS NOT NULL AND a.pid <> pg_backend_pid() AND a.xact_start < before);
END $$;
-- +goose StatementEnd
