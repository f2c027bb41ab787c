-- +goose Up

-- Lines of transcripts: final captions of sessions with transcription, from clients or from the tenant's server.
CREATE TABLE transcript_lines (
    -- Begins with the time of started_at, so that ids are in the order of the conversation.
    id         text PRIMARY KEY,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    session_id text NOT NULL REFERENCES sessions (id),
    user_id    text NOT NULL,
    -- The user's name at that time.
    speaker    text NOT NULL,
    body       text NOT NULL,
    -- A language tag; null if the client named none.
    language   text,
    -- The client's name for the sentence. A repeated request stores nothing.
    key        text NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX transcript_lines_key ON transcript_lines (session_id, user_id, key);
CREATE INDEX transcript_lines_session_idx ON transcript_lines (session_id, id);
CREATE INDEX transcript_lines_created_idx ON transcript_lines (created_at);

-- The numbers of lines of a session and of each of its speakers, which are limited. The user '' is the session.
CREATE TABLE transcript_sizes (
    session_id text NOT NULL REFERENCES sessions (id),
    user_id    text NOT NULL,
    tenant_id  text NOT NULL REFERENCES tenants (id),
    lines      integer NOT NULL,
    PRIMARY KEY (session_id, user_id)
);

-- Answers of the language model that are parts of a summary in the making. A repeated job reads them instead of
-- paying for them again.
CREATE TABLE summary_parts (
    session_id text NOT NULL REFERENCES sessions (id),
    tenant_id  text NOT NULL REFERENCES tenants (id),
    -- SHA-256 of the text that the model was asked about, in hex.
    digest     text NOT NULL,
    answer     jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (session_id, digest)
);

-- The engine that wrote the summary.
ALTER TABLE sessions ADD COLUMN summary_engine text CHECK (summary_engine IN ('extractive', 'model'));
UPDATE sessions SET summary_engine = 'extractive' WHERE summary_at IS NOT NULL;
-- Ended sessions without a summary.
CREATE INDEX sessions_unsummarized_idx ON sessions (ended_at) WHERE transcription_enabled AND state = 'ended' AND summary_at IS NULL;
