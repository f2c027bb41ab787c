-- +goose Up
-- Whether the processor had refused the refund, but has created it after all. From then on another job queries its
-- state, and the first job ends if it still exists.
ALTER TABLE refunds ADD COLUMN revived boolean NOT NULL DEFAULT false;
