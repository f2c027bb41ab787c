-- +goose Up
-- Whether a refund that the processor had refused turned out to have been made there after all. From then on another job
-- follows it up, and the first one ends if it is still there.
ALTER TABLE refunds ADD COLUMN revived boolean NOT NULL DEFAULT false;
