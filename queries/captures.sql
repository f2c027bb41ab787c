-- name: CreateCaptures :many
-- @sqlc-vet-disable tenant
-- Whoever knows a token may send to it. Keeps requests to any tokens in one commit, and returns the ids of those
-- that it has kept: not of those to unknown tokens. At most ring of them may be for one token. Locks in one order,
-- so that two servers don't wait for each other.
WITH incoming AS (
    SELECT unnest(@tokens::text[]) AS token, unnest(@ids::text[]) AS id, unnest(@methods::text[]) AS method, unnest(@paths::text[]) AS path,
        unnest(@queries::text[]) AS query, unnest(@headers::text[]) AS headers, unnest(@bodies::bytea[]) AS body, unnest(@ips::text[]) AS ip,
        unnest(@captured_ats::timestamptz[]) AS captured_at
), locked AS (
    SELECT u.id FROM capture_urls u WHERE u.token = ANY (@tokens::text[]) AND u.deleted_at IS NULL ORDER BY u.id FOR NO KEY UPDATE
), counted AS (
    UPDATE capture_urls u SET captured = u.captured + n.n, last_captured_at = n.at
    FROM locked l, (SELECT i.token, count(*) AS n, max(i.captured_at) AS at FROM incoming i GROUP BY i.token) n
    WHERE u.id = l.id AND u.token = n.token
    RETURNING u.id, u.tenant_id, u.token, u.captured - n.n AS before
)
INSERT INTO captures (capture_url_id, slot, id, tenant_id, method, path, query, headers, body, ip, captured_at)
SELECT c.id, (c.before + row_number() OVER (PARTITION BY c.id ORDER BY i.id)) % @ring::integer, i.id, c.tenant_id, i.method, i.path, i.query,
    i.headers::jsonb, i.body, i.ip, i.captured_at
FROM incoming i JOIN counted c ON c.token = i.token
ON CONFLICT (capture_url_id, slot) DO UPDATE SET id = excluded.id, method = excluded.method, path = excluded.path, query = excluded.query,
    headers = excluded.headers, body = excluded.body, ip = excluded.ip, captured_at = excluded.captured_at
RETURNING id;

-- name: ListCaptures :many
-- A page ends where its bodies reach max_bytes. The bodies that are not on it are not read: their length is kept apart.
WITH page AS (
    SELECT c.id, row_number() OVER w AS place, count(*) OVER () AS total, sum(octet_length(c.body)) OVER w - octet_length(c.body) AS bytes_before
    FROM captures c
    WHERE c.tenant_id = @tenant_id AND c.capture_url_id = @capture_url_id AND c.captured_at > @since
      AND (sqlc.narg('cursor')::text IS NULL OR c.id < sqlc.narg('cursor')::text)
    WINDOW w AS (ORDER BY c.id DESC)
)
SELECT sqlc.embed(c), (p.place < p.total)::boolean AS more FROM page p JOIN captures c ON c.id = p.id
WHERE c.tenant_id = @tenant_id AND p.place <= @max_rows::integer AND p.bytes_before < @max_bytes::bigint
ORDER BY c.id DESC;

-- name: GetCapture :one
SELECT c.* FROM captures c JOIN capture_urls u ON u.id = c.capture_url_id
WHERE c.tenant_id = @tenant_id AND u.token = @token AND u.deleted_at IS NULL AND c.id = @id AND c.captured_at > @since;

-- name: DeleteCapturesBefore :execrows
-- @sqlc-vet-disable tenant
-- The oldest ones, max_rows at most: one statement must not take long.
DELETE FROM captures WHERE id = ANY (ARRAY(SELECT c.id FROM captures c WHERE c.captured_at <= @before ORDER BY c.captured_at LIMIT @max_rows));
