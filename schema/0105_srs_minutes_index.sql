-- +goose NO TRANSACTION
-- +goose Up
-- Finds the hours whose minutes on SRS servers are not summed yet. Built without blocking writers. An interrupted build leaves an invalid
-- index, which the DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS figure_hours_srs_unsummed_idx;
CREATE INDEX CONCURRENTLY figure_hours_srs_unsummed_idx ON figure_hours (tenant_id, hour) WHERE srs_watched_minutes IS NULL;
