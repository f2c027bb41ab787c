-- +goose Up

-- Subtitles and captions of READY recordings.
CREATE TABLE recording_text_tracks (
    recording_id text NOT NULL,
    -- BCP 47, in its canonical form.
    language     text NOT NULL,
    tenant_id    text NOT NULL,
    name         text NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('SUBTITLES', 'CAPTIONS')),
    -- SHA-256 of the uploaded file.
    hash         bytea NOT NULL,
    -- Folder of the files within the recording's. Another upload has another one.
    version      text NOT NULL,
    cues         integer NOT NULL,
    size_bytes   bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (recording_id, language)
);
