-- +goose Up

ALTER TABLE webhook_endpoints
    -- The previous secret, encrypted; deliveries are signed with it too until the time in the next column.
    ADD COLUMN previous_secret       bytea,
    ADD COLUMN previous_secret_until timestamptz,
    -- Time of the first failure since the last success.
    ADD COLUMN failing_since         timestamptz;

-- The endpoint that a test event is for; null for other events.
ALTER TABLE events ADD COLUMN endpoint_id text;

-- From now on a delivery that has had its first attempt keeps next_id only while the worker that made the
-- attempt continues with the next delivery. A delivery that waits for no other one has a job.
UPDATE webhook_deliveries SET next_id = NULL WHERE status <> 'pending' AND next_id IS NOT NULL;
CREATE INDEX webhook_deliveries_next_idx ON webhook_deliveries (next_id) WHERE next_id IS NOT NULL;
-- Unfinished deliveries, for the search for lost jobs.
CREATE INDEX webhook_deliveries_open_idx ON webhook_deliveries (id) WHERE status IN ('pending', 'retrying');
