-- +goose Up
-- Events whose deliveries a job still has to write, because their transaction would have written too many. A row goes in
-- the transaction that writes its deliveries. While a subject has a row here, its later events get one too, so that
-- deliveries are written in the order of the subject's events. It references nothing, for the reason of events.
CREATE TABLE event_fanouts (
    event_id     text PRIMARY KEY,
    tenant_id    text NOT NULL,
    subject      text NOT NULL,
    sequence     bigint NOT NULL,
    -- The endpoints that took such events when the event was written.
    endpoint_ids text[] NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE INDEX event_fanouts_subject_idx ON event_fanouts (tenant_id, subject, sequence);
