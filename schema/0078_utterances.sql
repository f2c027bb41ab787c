-- +goose Up

-- Speech of participants of sessions with transcription, until it is recognized.
CREATE TABLE utterances (
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    session_id text NOT NULL REFERENCES sessions (id),
    user_id    text NOT NULL,
    -- The user's name at that time.
    speaker    text NOT NULL,
    -- The key of its line in the transcript.
    key        text NOT NULL,
    -- An Ogg file with Opus.
    sound      bytea NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    -- The latest attempt that failed.
    failed_at  timestamptz
);
ALTER TABLE utterances ALTER COLUMN sound SET STORAGE EXTERNAL; -- Opus can't be compressed
CREATE UNIQUE INDEX utterances_key ON utterances (session_id, user_id, key);
CREATE INDEX utterances_tenant_idx ON utterances (tenant_id);
CREATE INDEX utterances_created_idx ON utterances (created_at);

-- The origin of a line: a caption of a client or of the tenant's server, or the speech recognition.
ALTER TABLE transcript_lines ADD COLUMN source text NOT NULL DEFAULT 'caption' CHECK (source IN ('caption', 'speech'));

CREATE INDEX transcript_captions_idx ON transcript_lines (session_id, user_id, ended_at) WHERE source = 'caption';

-- The texts that a summary was written from. Summaries from before have none.
ALTER TABLE sessions ADD COLUMN summary_sources text[] NOT NULL DEFAULT '{}';
