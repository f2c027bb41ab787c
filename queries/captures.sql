-- name: LockCaptureTargets :many
-- @sqlc-vet-disable tenant
-- A sender needs only the token. Returns the URLs of these tokens, with the bytes that their tenants may keep. Locks the
-- tenants' capture_usage in one order, so two servers can't deadlock.
SELECT u.token, u.tenant_id, t.status AS tenant_status, p.max_capture_bytes, x.bytes, x.minute, x.minute_bytes
FROM capture_urls u JOIN tenants t ON t.id = u.tenant_id JOIN plans p ON p.tier = t.plan JOIN capture_usage x ON x.tenant_id = u.tenant_id
WHERE u.token = ANY (@tokens::text[]) AND u.deleted_at IS NULL
ORDER BY x.tenant_id FOR NO KEY UPDATE OF x;

-- name: LockCaptureUsage :many
-- @sqlc-vet-disable tenant
-- Locks rows of several tenants, in one order.
SELECT * FROM capture_usage WHERE tenant_id = ANY (@tenant_ids::text[]) ORDER BY tenant_id FOR NO KEY UPDATE;

-- name: ListKeptCaptures :many
-- @sqlc-vet-disable tenant
-- Returns those of the ids that are stored. The caller holds the lock of LockCaptureTargets.
SELECT id FROM captures WHERE id = ANY (@ids::text[]);

-- name: CreateCaptures :many
-- @sqlc-vet-disable tenant
-- The caller holds the lock of LockCaptureTargets. Stores requests to any tokens. Returns, for each tenant, the ids of the
-- stored requests (requests to URLs that were deleted meanwhile are not stored) and the bytes of its captures now. At most
-- ring of the requests may be for one token.
WITH incoming AS (
    SELECT unnest(@tokens::text[]) AS token, unnest(@ids::text[]) AS id, unnest(@methods::text[]) AS method, unnest(@paths::text[]) AS path,
        unnest(@queries::text[]) AS query, unnest(@headers::text[]) AS headers, unnest(@bodies::bytea[]) AS body, unnest(@ips::text[]) AS ip,
        unnest(@bytes::integer[]) AS bytes
), locked AS (
    SELECT u.id FROM capture_urls u WHERE u.token = ANY (@tokens::text[]) AND u.deleted_at IS NULL ORDER BY u.id FOR NO KEY UPDATE
), counted AS (
    UPDATE capture_urls u SET captured = u.captured + n.n, last_captured_at = @now::timestamptz
    FROM locked l, (SELECT i.token, count(*) AS n FROM incoming i GROUP BY i.token) n
    WHERE u.id = l.id AND u.token = n.token
    RETURNING u.id, u.tenant_id, u.token, u.captured - n.n AS before
), placed AS (
    SELECT c.id AS url_id, c.tenant_id, (c.before + row_number() OVER (PARTITION BY c.id ORDER BY i.id)) % @ring::integer AS slot, i.*
    FROM incoming i JOIN counted c ON c.token = i.token
), replaced AS (
    SELECT c.tenant_id, sum(c.bytes) AS bytes FROM placed n JOIN captures c ON c.capture_url_id = n.url_id AND c.slot = n.slot
    GROUP BY c.tenant_id
), kept AS (
    INSERT INTO captures (capture_url_id, slot, id, tenant_id, method, path, query, headers, body, ip, captured_at, bytes)
    SELECT n.url_id, n.slot, n.id, n.tenant_id, n.method, n.path, n.query, n.headers::jsonb, n.body, n.ip, @now::timestamptz, n.bytes
    FROM placed n
    ON CONFLICT (capture_url_id, slot) DO UPDATE SET id = excluded.id, method = excluded.method, path = excluded.path,
        query = excluded.query, headers = excluded.headers, body = excluded.body, ip = excluded.ip, captured_at = excluded.captured_at,
        bytes = excluded.bytes
    RETURNING id, tenant_id, bytes
), used AS (
    UPDATE capture_usage x SET bytes = x.bytes + k.bytes - coalesce(r.bytes, 0), minute = @minute::timestamptz,
        minute_bytes = CASE WHEN x.minute = @minute::timestamptz THEN x.minute_bytes ELSE 0 END + k.bytes
    FROM (SELECT kept.tenant_id, sum(kept.bytes) AS bytes FROM kept GROUP BY kept.tenant_id) k
    LEFT JOIN replaced r ON r.tenant_id = k.tenant_id
    WHERE x.tenant_id = k.tenant_id
    RETURNING x.tenant_id, x.bytes
)
SELECT u.tenant_id, u.bytes AS used, array_agg(k.id)::text[] AS ids FROM used u JOIN kept k ON k.tenant_id = u.tenant_id
GROUP BY u.tenant_id, u.bytes;

-- name: CloseCaptureMinute :exec
-- @sqlc-vet-disable tenant
-- The caller holds the lock of LockCaptureTargets. These tenants' URLs accept nothing more until the next minute.
UPDATE capture_usage SET minute = @minute, minute_bytes = @closed::bigint WHERE tenant_id = ANY (@tenant_ids::text[]);

-- name: DropOldestCaptures :one
-- The caller has locked the tenant's capture_usage. Deletes the oldest captures until excess bytes are free, max_rows of them
-- at most, and returns the bytes of the rest.
WITH oldest AS (
    SELECT c.id, c.bytes FROM captures c WHERE c.tenant_id = @tenant_id ORDER BY c.id LIMIT @max_rows
), dropped AS (
    DELETE FROM captures c USING (SELECT o.id, sum(o.bytes) OVER (ORDER BY o.id) - o.bytes AS before FROM oldest o) o
    WHERE c.tenant_id = @tenant_id AND c.id = o.id AND o.before < @excess::bigint
    RETURNING c.bytes
)
UPDATE capture_usage SET bytes = bytes - (SELECT coalesce(sum(d.bytes), 0) FROM dropped d)
WHERE capture_usage.tenant_id = @tenant_id RETURNING bytes;

-- name: ListOldestCaptures :many
-- @sqlc-vet-disable tenant
-- Captures of all tenants, captured at the given time or before, the oldest first, until excess bytes or max_rows are reached.
SELECT o.id, o.tenant_id FROM (
    SELECT c.id, c.tenant_id, sum(c.bytes) OVER (ORDER BY c.captured_at, c.id) - c.bytes AS before
    FROM (SELECT * FROM captures WHERE captured_at <= @until ORDER BY captured_at, id LIMIT @max_rows) c
) o WHERE o.before < @excess::bigint;

-- name: DeleteCaptures :exec
-- @sqlc-vet-disable tenant
-- Covers several tenants; the caller has locked their capture_usage.
WITH deleted AS (
    DELETE FROM captures c WHERE c.id = ANY (@ids::text[]) RETURNING c.tenant_id, c.bytes
)
UPDATE capture_usage x SET bytes = x.bytes - d.bytes
FROM (SELECT deleted.tenant_id, sum(deleted.bytes) AS bytes FROM deleted GROUP BY deleted.tenant_id) d
WHERE x.tenant_id = d.tenant_id;

-- name: SumCaptureBytes :one
-- @sqlc-vet-disable tenant
-- The bytes of all tenants' captures.
SELECT coalesce(sum(bytes), 0)::bigint FROM capture_usage;

-- name: ListCaptures :many
-- A page ends where its bodies reach max_bytes. Bodies that are not on the page are not read: their length is a column of its own.
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
