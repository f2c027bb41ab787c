-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or the sums of audit entries would wait behind the lock; Migrate repeats it
-- Numbers of audit entries by day, in UTC, of all tenants together, for the totals and deep pages of the admins' list. audit_days has
-- a row for each tenant and day, which are millions on a large platform. Triggers keep both equal, also for servers of a former version.
CREATE TABLE audit_platform_days (
    day        timestamptz NOT NULL,
    actor_type text NOT NULL,
    action     text NOT NULL,
    entity     text NOT NULL,
    entries    bigint NOT NULL,
    PRIMARY KEY (day, actor_type, action, entity)
);

-- +goose StatementBegin
CREATE FUNCTION add_audit_platform_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO audit_platform_days AS p (day, actor_type, action, entity, entries)
        SELECT a.day, a.actor_type, a.action, a.entity, sum(a.entries) FROM added a GROUP BY 1, 2, 3, 4
        ON CONFLICT (day, actor_type, action, entity) DO UPDATE SET entries = p.entries + excluded.entries;
    ELSIF TG_OP = 'UPDATE' THEN
        INSERT INTO audit_platform_days AS p (day, actor_type, action, entity, entries)
        SELECT c.day, c.actor_type, c.action, c.entity, sum(c.entries) FROM (
            SELECT a.day, a.actor_type, a.action, a.entity, a.entries FROM added a
            UNION ALL
            SELECT r.day, r.actor_type, r.action, r.entity, -r.entries FROM removed r
        ) c GROUP BY 1, 2, 3, 4
        ON CONFLICT (day, actor_type, action, entity) DO UPDATE SET entries = p.entries + excluded.entries;
        DELETE FROM audit_platform_days p USING (SELECT DISTINCT r.day FROM removed r) d WHERE p.day = d.day AND p.entries = 0;
    ELSE
        UPDATE audit_platform_days p SET entries = p.entries - r.entries FROM (
            SELECT o.day, o.actor_type, o.action, o.entity, sum(o.entries) AS entries FROM removed o GROUP BY 1, 2, 3, 4
        ) r WHERE p.day = r.day AND p.actor_type = r.actor_type AND p.action = r.action AND p.entity = r.entity;
        DELETE FROM audit_platform_days p USING (SELECT DISTINCT r.day FROM removed r) d WHERE p.day = d.day AND p.entries = 0;
    END IF;
    RETURN NULL;
END $$;
-- +goose StatementEnd

-- Nothing is written to audit_days between the copy and the triggers.
LOCK TABLE audit_days IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO audit_platform_days (day, actor_type, action, entity, entries)
SELECT day, actor_type, action, entity, sum(entries) FROM audit_days GROUP BY 1, 2, 3, 4;
CREATE TRIGGER audit_days_insert AFTER INSERT ON audit_days
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_audit_platform_days();
CREATE TRIGGER audit_days_update AFTER UPDATE ON audit_days
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_audit_platform_days();
CREATE TRIGGER audit_days_delete AFTER DELETE ON audit_days
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION add_audit_platform_days();
