-- +goose Up

-- What tenants used: one row per interval of one resource, meter, quality and
-- source. Rows are written once and never changed; sums of usage come from here.
-- Like events, they don't reference tenants, of whom none is deleted.
CREATE TABLE usage_intervals (
    -- 16 bytes that follow from the tenant, source (a run of a server process, a
    -- job), resource, meter, quality and from_at: the same interval is written once
    -- however often it is sent. They begin with from_at, so that new rows are
    -- neighbours in the index, and old ones too.
    key         bytea PRIMARY KEY CHECK (octet_length(key) = 16),
    tenant_id   text NOT NULL,
    project_id  text,
    -- A stream, session, recording, restream target or device project.
    resource_id text NOT NULL,
    -- As UsageMeter of the API, and INGRESS_BYTES. STORAGE_BYTES isn't here: it is
    -- a level, of which no sum can be made.
    meter       text NOT NULL CHECK (meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES', 'PARTICIPANT_MINUTES', 'RECORDING_MINUTES',
        'EGRESS_BYTES', 'INGRESS_BYTES', 'TRANSCODE_MINUTES', 'PUSHES')),
    -- The picture's shorter side, such as 720p; empty when it makes no difference.
    quality     text NOT NULL DEFAULT '',
    -- By the clock of the source. The interval counts for the time in which it begins.
    from_at     timestamptz NOT NULL,
    to_at       timestamptz NOT NULL CHECK (to_at >= from_at),
    -- Seconds for meters of minutes, over all viewers or participants; bytes for
    -- meters of bytes; else a number.
    amount      bigint NOT NULL CHECK (amount > 0)
);
-- For the parts of hours at both ends of a period.
CREATE INDEX usage_intervals_tenant_idx ON usage_intervals (tenant_id, from_at);

-- +goose StatementBegin
CREATE FUNCTION usage_intervals_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'usage_intervals are never changed';
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_intervals_stay BEFORE UPDATE ON usage_intervals EXECUTE FUNCTION usage_intervals_stay();

-- The sums of usage_intervals by the hour (UTC) in which they begin, added to by the
-- statement that writes them. A month of one tenant is thousands of rows here and
-- millions there. Kept when the intervals are deleted.
CREATE TABLE usage_hours (
    tenant_id text NOT NULL,
    meter     text NOT NULL,
    hour      timestamptz NOT NULL,
    amount    bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tenant_id, meter, hour)
);
-- For the tenants that use most.
CREATE INDEX usage_hours_hour_idx ON usage_hours (hour);
