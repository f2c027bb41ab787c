-- +goose Up
-- The address at which other nodes fetch what viewers ask them for; null for a node
-- that no other one can reach.
ALTER TABLE nodes ADD COLUMN url text;

-- The node that the newest publisher connected to, also after it has gone; '' for SRS
-- servers and for streams that were never published.
ALTER TABLE streams ADD COLUMN node text NOT NULL DEFAULT '';
UPDATE streams s SET node = p.node FROM publishers p WHERE p.id = s.publisher_id;

-- What the node of a stream on air receives and how many players watch, for the other
-- nodes. Written every few seconds and of no use later, so it is in no write-ahead log.
CREATE UNLOGGED TABLE stream_media (
    stream_id   text PRIMARY KEY,
    node        text NOT NULL,
    seen_at     timestamptz NOT NULL,
    viewers     integer NOT NULL,
    video_kbps  integer NOT NULL,
    audio_kbps  integer NOT NULL,
    fps         double precision NOT NULL,
    width       integer NOT NULL,
    height      integer NOT NULL,
    video_codec text NOT NULL,
    audio_codec text NOT NULL
) WITH (fillfactor = 50);
