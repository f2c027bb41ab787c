-- +goose Up

-- Number of events of each subject. The row outlives the events, which are kept for 30 days, so that a subject's
-- numbers never restart. It has no foreign key, for the same reason as events.
CREATE TABLE event_subjects (
    tenant_id text NOT NULL,
    subject   text NOT NULL,
    -- Number of the subject's newest event.
    sequence  bigint NOT NULL,
    PRIMARY KEY (tenant_id, subject)
) WITH (fillfactor = 80); -- room for updates in place

ALTER TABLE events
    -- Number of the event within its subject: 1, 2, 3 … in the order of the commits. A test of an endpoint has 1.
    ADD COLUMN sequence bigint,
    -- Position among all events, assigned when the event is written, before its commit. So an event may be committed
    -- after one with a higher position; event_horizon() returns the position up to which that can't happen any more.
    ADD COLUMN position bigint;
UPDATE events e SET sequence = n.sequence, position = n.position
FROM (SELECT id, row_number() OVER (PARTITION BY tenant_id, subject ORDER BY id) AS sequence, row_number() OVER (ORDER BY id) AS position FROM events) n
WHERE e.id = n.id;
INSERT INTO event_subjects (tenant_id, subject, sequence)
SELECT tenant_id, subject, max(sequence) FROM events WHERE endpoint_id IS NULL GROUP BY tenant_id, subject;

CREATE SEQUENCE events_position_seq OWNED BY events.position;
SELECT setval('events_position_seq', greatest((SELECT max(position) FROM events), 1));
ALTER TABLE events
    ALTER COLUMN sequence SET NOT NULL,
    ALTER COLUMN position SET DEFAULT nextval('events_position_seq'),
    ALTER COLUMN position SET NOT NULL;
DROP INDEX events_tenant_idx;
CREATE INDEX events_feed_idx ON events (tenant_id, position);
CREATE INDEX events_subject_idx ON events (subject, position);

-- The event's sequence: the order of a subject's deliveries.
ALTER TABLE webhook_deliveries ADD COLUMN sequence bigint;
UPDATE webhook_deliveries d SET sequence = e.sequence FROM events e WHERE e.id = d.event_id;
ALTER TABLE webhook_deliveries ALTER COLUMN sequence SET NOT NULL;
DROP INDEX webhook_deliveries_lane_idx;
CREATE INDEX webhook_deliveries_lane_idx ON webhook_deliveries (endpoint_id, subject, sequence DESC) WHERE status = 'pending';

-- Marks the transaction as one that assigns positions from now on, with a shared advisory lock that is held to its end.
-- The lock's key is 'EV' in the upper 16 bits and, below them, the last position that any transaction had been assigned
-- before. The transaction's own positions are above that. One call in each transaction is enough. A setting remembers
-- the call: it ends with the transaction, and a rollback to a savepoint undoes it together with the lock.
-- +goose StatementBegin
CREATE FUNCTION mark_emitting() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE last bigint;
BEGIN
    IF current_setting('showfloor.emitting', true) = 'on' THEN
        RETURN true;
    END IF;
    SELECT last_value INTO last FROM events_position_seq;
    PERFORM pg_advisory_xact_lock_shared((x'4556'::bigint << 48) | last);
    PERFORM set_config('showfloor.emitting', 'on', true);
    RETURN true;
END $$;
-- +goose StatementEnd

-- The highest position up to which every event is committed or never will be. Read the events in a separate statement
-- afterwards. It is correct because a transaction that was assigned a position up to "last" had taken its lock before:
-- either it still holds the lock, and its positions are above the key, or it has ended, and later statements see its rows.
-- +goose StatementBegin
CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE last bigint; marked bigint;
BEGIN
    SELECT last_value INTO last FROM events_position_seq;
    SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) INTO marked FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = x'4556'::bigint
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN least(last, marked);
END $$;
-- +goose StatementEnd
