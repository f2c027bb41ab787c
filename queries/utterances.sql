-- name: CreateUtterance :execrows
-- Stores nothing if it is stored, or if too many of the speaker, the session or the tenant wait.
INSERT INTO utterances (id, tenant_id, session_id, user_id, speaker, key, sound, started_at, ended_at, created_at)
SELECT @id, @tenant_id, @session_id, @user_id, @speaker, @key, @sound, @started_at, @ended_at, @now
WHERE (SELECT count(*) FROM utterances u WHERE u.tenant_id = @tenant_id AND u.session_id = @session_id AND u.user_id = @user_id)
        < @speaker_most::integer
    AND (SELECT count(*) FROM utterances u WHERE u.tenant_id = @tenant_id AND u.session_id = @session_id) < @session_most::integer
    AND (SELECT count(*) FROM utterances u WHERE u.tenant_id = @tenant_id) < @tenant_most::integer
ON CONFLICT (session_id, user_id, key) DO NOTHING;

-- name: HasUtterance :one
SELECT EXISTS (
    SELECT FROM utterances WHERE tenant_id = @tenant_id AND session_id = @session_id AND user_id = @user_id AND key = @key)::boolean;

-- name: GetUtterance :one
SELECT sqlc.embed(u), t.status AS tenant_status FROM utterances u JOIN tenants t ON t.id = u.tenant_id
WHERE u.tenant_id = @tenant_id AND u.id = @id;

-- name: MarkUtteranceFailed :exec
UPDATE utterances SET failed_at = @now::timestamptz WHERE tenant_id = @tenant_id AND id = @id;

-- name: DeleteUtterance :execrows
DELETE FROM utterances WHERE tenant_id = @tenant_id AND id = @id;

-- name: HasUtterances :one
-- Whether utterances of a session wait. Without @failed, only utterances count whose latest attempt didn't fail.
SELECT EXISTS (
    SELECT FROM utterances WHERE tenant_id = @tenant_id AND session_id = @session_id AND (failed_at IS NULL OR @failed::boolean))::boolean;

-- name: DeleteUtterancesBefore :execrows
-- @sqlc-vet-disable tenant
-- Retention covers all tenants.
DELETE FROM utterances WHERE id IN (
    SELECT u.id FROM utterances u WHERE u.created_at < @before::timestamptz ORDER BY u.created_at LIMIT @max_rows);

-- name: DeleteUtterancesOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked.
DELETE FROM utterances WHERE session_id = ANY (@ids::text[]);
