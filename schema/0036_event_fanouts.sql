-- +goose Up
-- Events whose deliveries a job has still to write, because there were too many for the event's transaction. A row is
-- deleted in the transaction that writes its deliveries. While a subject has a row here, its later events get one too,
-- so that deliveries are written in the order of the subject's events. No foreign key, for the same reason as events.
CREATE TABLE event_fanouts (
    event_id     text PRIMARY KEY,
    tenant_id    text NOT NULL,
    subject      text NOT NULL,
    sequence     bigint NOT NULL,
    -- The endpoints that had subscribed to the event when it was written.
    endpoint_ids text[] NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE INDEX event_fanouts_subject_idx ON event_fanouts (tenant_id, subject, sequence);
