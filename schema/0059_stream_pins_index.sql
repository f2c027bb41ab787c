-- +goose NO TRANSACTION
-- +goose Up
-- Pins in streams' rooms by time, for retention; those of sessions go with their session. It is built without blocking writers; a
-- build that was interrupted leaves an invalid index, which DROP removes.
DROP INDEX CONCURRENTLY IF EXISTS product_pins_streams_idx;
CREATE INDEX CONCURRENTLY product_pins_streams_idx ON product_pins (pinned_at) WHERE starts_with(room_id, 'str_');
