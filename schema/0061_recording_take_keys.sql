-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or recorders would wait behind the lock; Migrate repeats it

ALTER TABLE recording_takes
    -- The recorder's key of the opening: a repeated opening returns the same take.
    ADD COLUMN key text NOT NULL DEFAULT '',
    -- It was closed because its node sent no heartbeats. That node may open it again until the recording is final.
    ADD COLUMN timed_out boolean NOT NULL DEFAULT false;
