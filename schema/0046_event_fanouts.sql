-- +goose Up
-- The table event_fanouts becomes a view of the waiting events, for servers of the previous version that still run. They see the
-- events of new servers, so they write no later event's deliveries before these; new servers see theirs. A later release drops the
-- view, its function, the default of events.fanned_at, and the jobs webhook_fan_out that such servers left in the queue. No
-- server of this version works on these jobs, and none is needed.
LOCK TABLE event_fanouts IN ACCESS EXCLUSIVE MODE;
UPDATE events e SET endpoint_ids = f.endpoint_ids, fanned_at = NULL FROM event_fanouts f WHERE e.id = f.event_id;
DROP TABLE event_fanouts;
CREATE VIEW event_fanouts AS
SELECT id AS event_id, tenant_id, subject, sequence, endpoint_ids, occurred_at AS created_at
FROM events WHERE fanned_at IS NULL AND endpoint_ids <> '{}';

-- +goose StatementBegin
CREATE FUNCTION change_event_fanout() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE events SET endpoint_ids = NEW.endpoint_ids, fanned_at = NULL WHERE id = NEW.event_id;
        RETURN NEW;
    END IF;
    UPDATE events SET endpoint_ids = '{}', fanned_at = now() WHERE id = OLD.event_id AND fanned_at IS NULL;
    IF NOT FOUND THEN
        RETURN NULL; -- another transaction has taken it; the DELETE returns no row
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER change_event_fanout INSTEAD OF INSERT OR DELETE ON event_fanouts FOR EACH ROW EXECUTE FUNCTION change_event_fanout();

-- New servers find the waiting events without jobs. A new database has no queue yet.
-- +goose StatementBegin
DO $$ BEGIN
    IF to_regclass('river_job') IS NOT NULL THEN
        DELETE FROM river_job WHERE kind = 'webhook_fan_out' AND state <> 'running';
    END IF;
END $$;
-- +goose StatementEnd
