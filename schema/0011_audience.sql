-- +goose Up

-- How many watched each stream, minute by minute: one row for each stream, hour
-- and place that counts them. Written again and again with the greater number,
-- so that a sample which is taken twice counts once.
CREATE TABLE audience_hours (
    tenant_id text NOT NULL REFERENCES tenants (id),
    stream_id text NOT NULL REFERENCES streams (id),
    -- The server process whose players are counted, or 'srs' for those of SRS servers.
    node      text NOT NULL,
    hour      timestamptz NOT NULL,
    -- The most players at once in each minute, subscripts 0 to 59; NULL or out of
    -- bounds while the stream wasn't on air.
    viewers   integer[] NOT NULL,
    PRIMARY KEY (tenant_id, hour, stream_id, node)
);
-- What is to be deleted.
CREATE INDEX audience_hours_hour_idx ON audience_hours (hour);

-- For counts of what happened over time.
CREATE INDEX events_name_idx ON events (tenant_id, event, occurred_at);
