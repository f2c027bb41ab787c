-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Clips are recordings that were cut out of another one.
ALTER TABLE recordings
    -- The source; NULL for a recording of a stream.
    ADD COLUMN clip_of text,
    -- Beginning and end in the source: as requested, and those of the clip once it is READY.
    ADD COLUMN clip_from_ms bigint,
    ADD COLUMN clip_to_ms bigint;

-- Highest values of meters that are a level, by the hour (UTC). usage_intervals can't hold them: levels can't be summed.
CREATE TABLE usage_levels (
    tenant_id text NOT NULL,
    -- STORAGE_BYTES.
    meter     text NOT NULL,
    hour      timestamptz NOT NULL,
    highest   bigint NOT NULL CHECK (highest > 0),
    PRIMARY KEY (tenant_id, meter, hour)
);
