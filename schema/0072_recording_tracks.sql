-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or requests would wait behind the lock; Migrate repeats it

-- Whether each participant's sound is also kept as a file of its own; only for recordings of sessions.
ALTER TABLE recordings
    ADD COLUMN separate_tracks boolean NOT NULL DEFAULT false,
    -- A secret in the names of the tracks' files: who may play the video may not fetch each participant's sound. NULL without tracks.
    ADD COLUMN tracks_key text CHECK ((tracks_key IS NOT NULL) = separate_tracks);

-- The sound of one participant in one part of a recording. The file is as long as the part.
CREATE TABLE recording_tracks (
    recording_id text NOT NULL REFERENCES recordings (id),
    part         integer NOT NULL CHECK (part > 0),
    -- From 1 in each part; it is in the file's name.
    number       integer NOT NULL CHECK (number > 0),
    tenant_id    text NOT NULL,
    user_id      text NOT NULL,
    -- The name that the other participants saw; NULL for none.
    name         text,
    -- Where the part begins in the video; NULL until the recording is READY.
    start_ms     bigint,
    duration_ms  bigint NOT NULL,
    size_bytes   bigint NOT NULL,
    PRIMARY KEY (recording_id, part, number)
);
