-- +goose Up
SET LOCAL lock_timeout = '200ms';

-- The renditions that a broadcast has beside the source: the heights and the average bitrates in kbit/s, in the same order.
ALTER TABLE streams ADD COLUMN rendition_heights integer[] NOT NULL DEFAULT '{}';
ALTER TABLE streams ADD COLUMN rendition_kbps integer[] NOT NULL DEFAULT '{}';

-- The state of their encoding; empty for a broadcast without renditions.
ALTER TABLE stream_media ADD COLUMN ladder text NOT NULL DEFAULT '';
