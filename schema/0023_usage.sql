-- +goose Up

-- Usage of tenants: one row per interval of one resource, meter, quality and source.
-- Rows are written once and never changed; sums of usage come from here. As for
-- events, there is no foreign key to tenants, because tenants are never deleted.
CREATE TABLE usage_intervals (
    -- 16 bytes derived from the tenant, source (a run of a server process, a job),
    -- resource, meter, quality and from_at: an interval that is sent repeatedly is written
    -- once. They begin with from_at, so that new rows are neighbours in the index, and old
    -- rows too.
    key         bytea PRIMARY KEY CHECK (octet_length(key) = 16),
    tenant_id   text NOT NULL,
    project_id  text,
    -- Id of a stream, session, recording, restream target or device project.
    resource_id text NOT NULL,
    -- UsageMeter of the API, and INGRESS_BYTES. STORAGE_BYTES is not here: it is a level,
    -- which can't be summed.
    meter       text NOT NULL CHECK (meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES', 'PARTICIPANT_MINUTES', 'RECORDING_MINUTES',
        'EGRESS_BYTES', 'INGRESS_BYTES', 'TRANSCODE_MINUTES', 'PUSHES')),
    -- The picture's shorter side, such as 720p; empty for meters without a quality.
    quality     text NOT NULL DEFAULT '',
    -- By the clock of the source. The interval counts for the period in which it begins.
    from_at     timestamptz NOT NULL,
    to_at       timestamptz NOT NULL CHECK (to_at >= from_at),
    -- Seconds for meters of minutes, summed over all viewers or participants; bytes for
    -- meters of bytes; a count for others.
    amount      bigint NOT NULL CHECK (amount > 0)
);
-- For the partial hours at both ends of a period.
CREATE INDEX usage_intervals_tenant_idx ON usage_intervals (tenant_id, from_at);

-- +goose StatementBegin
CREATE FUNCTION usage_intervals_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'usage_intervals are never changed';
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_intervals_stay BEFORE UPDATE ON usage_intervals EXECUTE FUNCTION usage_intervals_stay();

-- Sums of usage_intervals by the hour (UTC) in which they begin, updated by the
-- statement that writes the intervals. A month of one tenant is thousands of rows here
-- and millions there. Kept when the intervals are deleted.
CREATE TABLE usage_hours (
    tenant_id text NOT NULL,
    meter     text NOT NULL,
    hour      timestamptz NOT NULL,
    amount    bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tenant_id, meter, hour)
);
-- For the list of tenants with the highest usage.
CREATE INDEX usage_hours_hour_idx ON usage_hours (hour);
