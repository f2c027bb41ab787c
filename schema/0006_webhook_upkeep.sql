-- +goose Up

ALTER TABLE webhook_endpoints
    -- The secret before this one, encrypted; it signs as well until the time beside it.
    ADD COLUMN previous_secret       bytea,
    ADD COLUMN previous_secret_until timestamptz,
    -- The first failure since the last success.
    ADD COLUMN failing_since         timestamptz;

-- The one endpoint that a test is for; null for what happened.
ALTER TABLE events ADD COLUMN endpoint_id text;

-- From now on a delivery that has had its first attempt keeps next_id only while the worker that made it
-- takes the next one on; what waits for nobody else has a job.
UPDATE webhook_deliveries SET next_id = NULL WHERE status <> 'pending' AND next_id IS NOT NULL;
CREATE INDEX webhook_deliveries_next_idx ON webhook_deliveries (next_id) WHERE next_id IS NOT NULL;
-- What still has something ahead, for the search after lost jobs.
CREATE INDEX webhook_deliveries_open_idx ON webhook_deliveries (id) WHERE status IN ('pending', 'retrying');
