-- +goose Up
-- Input for the health notices of a stream on other nodes: whether pictures arrive in
-- another order than they are shown in, and the time between key pictures in milliseconds, 0
-- while it isn't known.
ALTER TABLE stream_media ADD COLUMN b_frames boolean NOT NULL DEFAULT false;
ALTER TABLE stream_media ADD COLUMN key_interval_ms integer NOT NULL DEFAULT 0;
