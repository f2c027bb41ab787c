-- +goose Up

-- Viewers of each stream per minute: one row for each stream, hour and counting
-- process. Rows are updated repeatedly with the greater number, so a repeated sample
-- counts once.
CREATE TABLE audience_hours (
    tenant_id text NOT NULL REFERENCES tenants (id),
    stream_id text NOT NULL REFERENCES streams (id),
    -- The server process whose players are counted, or 'srs' for players of SRS servers.
    node      text NOT NULL,
    hour      timestamptz NOT NULL,
    -- The maximum of concurrent players in each minute, subscripts 0 to 59; NULL or out of
    -- bounds while the stream wasn't on air.
    viewers   integer[] NOT NULL,
    PRIMARY KEY (tenant_id, hour, stream_id, node)
);
-- For retention.
CREATE INDEX audience_hours_hour_idx ON audience_hours (hour);

-- For counts of events over time.
CREATE INDEX events_name_idx ON events (tenant_id, event, occurred_at);
