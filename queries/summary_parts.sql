-- name: ListSummaryParts :many
SELECT digest, answer FROM summary_parts WHERE tenant_id = @tenant_id AND session_id = @session_id;

-- name: SaveSummaryPart :exec
INSERT INTO summary_parts (session_id, tenant_id, digest, answer, created_at) VALUES (@session_id, @tenant_id, @digest, @answer, @now)
ON CONFLICT (session_id, digest) DO UPDATE SET answer = excluded.answer, created_at = excluded.created_at;

-- name: DeleteSummaryParts :exec
DELETE FROM summary_parts WHERE tenant_id = @tenant_id AND session_id = @session_id;

-- name: DeleteSummaryPartsOfSessions :exec
-- @sqlc-vet-disable tenant
-- The sessions are locked.
DELETE FROM summary_parts WHERE session_id = ANY (@ids::text[]);
