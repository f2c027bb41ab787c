-- name: CreateTranscriptLine :one
-- Returns no row if the user has a line with this key.
INSERT INTO transcript_lines (id, tenant_id, session_id, user_id, speaker, body, language, key, source, started_at, ended_at, created_at)
VALUES (@id, @tenant_id, @session_id, @user_id, @speaker, @body, @language, @key, @source, @started_at, @ended_at, @now)
ON CONFLICT (session_id, user_id, key) DO NOTHING
RETURNING *;

-- name: GetTranscriptLineByKey :one
SELECT * FROM transcript_lines WHERE tenant_id = @tenant_id AND session_id = @session_id AND user_id = @user_id AND key = @key;

-- name: CountTranscriptLine :execrows
-- Counts one line more of a speaker, or of the session if @user_id is empty; no row changes if there are @most lines.
INSERT INTO transcript_sizes AS t (session_id, user_id, tenant_id, lines) VALUES (@session_id, @user_id, @tenant_id, 1)
ON CONFLICT (session_id, user_id) DO UPDATE SET lines = t.lines + 1 WHERE t.lines < @most::integer;

-- name: HasCaptions :one
-- Whether the speaker's client has published captions that were said between these times.
SELECT EXISTS (
    SELECT FROM transcript_lines WHERE tenant_id = @tenant_id AND session_id = @session_id AND user_id = @user_id AND source = 'caption'
        AND ended_at >= @since::timestamptz AND started_at <= @until::timestamptz)::boolean;

-- name: HasTranscriptSpace :one
-- Whether the session has fewer lines than @session_most, and the speaker fewer than @speaker_most.
SELECT (NOT EXISTS (
    SELECT FROM transcript_sizes WHERE tenant_id = @tenant_id AND session_id = @session_id
        AND (user_id = '' AND lines >= @session_most::integer OR user_id = @user_id AND lines >= @speaker_most::integer)))::boolean;

-- name: ListTranscriptLines :many
SELECT * FROM transcript_lines WHERE tenant_id = @tenant_id AND session_id = @session_id AND id > @after::text ORDER BY id LIMIT @max_rows;

-- name: DeleteTranscriptLinesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM transcript_lines WHERE id IN (
    SELECT l.id FROM transcript_lines l WHERE l.created_at < @before::timestamptz
        AND l.tenant_id <> ALL (ARRAY(SELECT held_tenants())) ORDER BY l.created_at LIMIT @max_rows);

-- name: DeleteTranscriptLinesOfSessions :execrows
-- @sqlc-vet-disable tenant
DELETE FROM transcript_lines WHERE id IN (
    SELECT l.id FROM transcript_lines l WHERE l.session_id = ANY (@ids::text[]) LIMIT @max_rows);

-- name: DeleteTranscriptsOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked.
WITH lines AS (DELETE FROM transcript_lines WHERE session_id = ANY (@ids::text[]))
DELETE FROM transcript_sizes WHERE session_id = ANY (@ids::text[]);
