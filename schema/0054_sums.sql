-- +goose NO TRANSACTION
-- +goose Up
-- Each statement may run twice, because nothing rolls it back when a later one fails.

-- Retention deletes entries and subtracts them from their days. A day without entries is deleted. The mark is locked first, so
-- that the job doesn't count the entries meanwhile. Entries after the mark are not counted yet.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION uncount_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mark timestamptz;
BEGIN
    IF NOT EXISTS (SELECT FROM deleted) THEN
        RETURN NULL;
    END IF;
    SELECT u.until INTO mark FROM summed_until u WHERE u.name = 'audit' FOR UPDATE;
    WITH old AS (
        SELECT date_trunc('day', at, 'UTC') AS day, coalesce(tenant_id, '') AS tenant_id, actor_type, action, entity, count(*) AS entries
        FROM deleted WHERE at < mark GROUP BY 1, 2, 3, 4, 5
    ), emptied AS (
        DELETE FROM audit_days d USING old o
        WHERE d.day = o.day AND d.tenant_id = o.tenant_id AND d.actor_type = o.actor_type AND d.action = o.action AND d.entity = o.entity
            AND d.entries <= o.entries
    )
    UPDATE audit_days d SET entries = d.entries - o.entries FROM old o
    WHERE d.day = o.day AND d.tenant_id = o.tenant_id AND d.actor_type = o.actor_type AND d.action = o.action AND d.entity = o.entity
        AND d.entries > o.entries;
    RETURN NULL;
END $$;
-- +goose StatementEnd
DELETE FROM audit_days WHERE entries = 0;

-- Hours with figures of the audience, for retention. An interrupted build leaves an invalid index, which the DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS figure_hours_audience_idx;
CREATE INDEX CONCURRENTLY figure_hours_audience_idx ON figure_hours (hour) WHERE live_minutes > 0;
