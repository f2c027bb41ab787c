-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or writers of usage would wait behind the lock; Migrate repeats it

-- Bytes that operators see apart from the meters of the API. CDN_BYTES and ROOM_BYTES are parts of EGRESS_BYTES, the others aren't.
-- NOT VALID, because every stored meter is in the shorter list too.
ALTER TABLE usage_intervals DROP CONSTRAINT usage_intervals_meter_check;
ALTER TABLE usage_intervals ADD CONSTRAINT usage_intervals_meter_check CHECK (meter IN ('STREAM_MINUTES', 'VIEWER_MINUTES',
    'PARTICIPANT_MINUTES', 'RECORDING_MINUTES', 'EGRESS_BYTES', 'INGRESS_BYTES', 'TRANSCODE_MINUTES', 'PUSHES',
    'CDN_BYTES', 'ROOM_BYTES', 'CDN_FILL_BYTES', 'RESTREAM_BYTES')) NOT VALID;

-- Sums of usage_intervals by the day (UTC) in which they begin. Kept when the intervals are deleted.
CREATE TABLE usage_days (
    -- Empty for CDN_BYTES of paths that belong to no tenant.
    tenant_id text NOT NULL,
    meter     text NOT NULL,
    day       timestamptz NOT NULL,
    -- The resources' kind: the prefix of their ids, such as str, rec or sess.
    kind      text NOT NULL,
    amount    bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tenant_id, meter, day, kind)
) WITH (fillfactor = 70); -- room for updates in the same page, which then leave the indexes alone
-- For the traffic of all tenants.
CREATE INDEX usage_days_day_idx ON usage_days (day);

-- The same for each resource. Grows with the resources in use, not with their viewers.
CREATE TABLE usage_resource_days (
    tenant_id   text NOT NULL,
    meter       text NOT NULL,
    day         timestamptz NOT NULL,
    resource_id text NOT NULL,
    amount      bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (tenant_id, meter, day, resource_id)
) WITH (fillfactor = 70);
-- For the retention.
CREATE INDEX usage_resource_days_day_idx ON usage_resource_days (day);

-- A trigger writes these sums, so that servers of the former version, which run until they are replaced, write them too. Every
-- writer locks rows in the same order: hours, days, days of resources, each sorted.
-- +goose StatementBegin
CREATE FUNCTION usage_intervals_sum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usage_days AS d (tenant_id, meter, day, kind, amount)
    SELECT tenant_id, meter, date_trunc('day', from_at, 'UTC'), split_part(resource_id, '_', 1), sum(amount)
    FROM created GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (tenant_id, meter, day, kind) DO UPDATE SET amount = d.amount + excluded.amount;
    INSERT INTO usage_resource_days AS d (tenant_id, meter, day, resource_id, amount)
    SELECT tenant_id, meter, date_trunc('day', from_at, 'UTC'), resource_id, sum(amount)
    FROM created WHERE tenant_id <> '' GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (tenant_id, meter, day, resource_id) DO UPDATE SET amount = d.amount + excluded.amount;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER usage_intervals_sum AFTER INSERT ON usage_intervals
    REFERENCING NEW TABLE AS created FOR EACH STATEMENT EXECUTE FUNCTION usage_intervals_sum();

-- The usage before this migration. The lock of CREATE TRIGGER keeps writers away until the commit, so nothing is missed. Sums of hours whose
-- intervals are deleted already get the kind that most of their meter has.
INSERT INTO usage_resource_days (tenant_id, meter, day, resource_id, amount)
SELECT tenant_id, meter, date_trunc('day', from_at, 'UTC'), resource_id, sum(amount) FROM usage_intervals GROUP BY 1, 2, 3, 4;
INSERT INTO usage_days (tenant_id, meter, day, kind, amount)
SELECT tenant_id, meter, day, split_part(resource_id, '_', 1), sum(amount) FROM usage_resource_days GROUP BY 1, 2, 3, 4;
INSERT INTO usage_days AS d (tenant_id, meter, day, kind, amount)
SELECT h.tenant_id, h.meter, h.day, CASE h.meter WHEN 'PARTICIPANT_MINUTES' THEN 'sess' WHEN 'RECORDING_MINUTES' THEN 'rec' ELSE 'str' END,
    h.amount - coalesce(k.amount, 0)
FROM (SELECT tenant_id, meter, date_trunc('day', hour, 'UTC') AS day, sum(amount) AS amount FROM usage_hours GROUP BY 1, 2, 3) h
LEFT JOIN (SELECT tenant_id, meter, day, sum(amount) AS amount FROM usage_days GROUP BY 1, 2, 3) k USING (tenant_id, meter, day)
WHERE h.amount > coalesce(k.amount, 0)
ON CONFLICT (tenant_id, meter, day, kind) DO UPDATE SET amount = d.amount + excluded.amount;

-- Rows of CDNs' logs that were imported by the API, so that a repeated row doesn't count again.
CREATE TABLE cdn_requests (
    -- 16 bytes of SHA-256 over the source, a zero byte and the id of the request.
    key         bytea PRIMARY KEY CHECK (octet_length(key) = 16),
    imported_at timestamptz NOT NULL
);
CREATE INDEX cdn_requests_imported_at_idx ON cdn_requests (imported_at);

-- Log files that were imported by the command, each once.
CREATE TABLE cdn_files (
    -- SHA-256 of the uncompressed content.
    hash        bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
    source      text NOT NULL,
    -- The sums of a file are written in chunks, a transaction each. done is how many of them are written.
    chunks      integer NOT NULL CHECK (chunks >= 0),
    done        integer NOT NULL DEFAULT 0 CHECK (done BETWEEN 0 AND chunks),
    started_at  timestamptz NOT NULL,
    finished_at timestamptz
);
