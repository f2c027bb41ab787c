-- +goose Up
-- The address at which other nodes fetch media for their viewers; null for a node that
-- other nodes can't reach.
ALTER TABLE nodes ADD COLUMN url text;

-- The node to which the newest publisher connected, also after it has disconnected; ''
-- for SRS servers and for streams that were never published.
ALTER TABLE streams ADD COLUMN node text NOT NULL DEFAULT '';
UPDATE streams s SET node = p.node FROM publishers p WHERE p.id = s.publisher_id;

-- Input and number of players of a stream on air, as seen by its node, for the other
-- nodes. Written every few seconds and outdated soon, so the table is not in the write-ahead log.
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
