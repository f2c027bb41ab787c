-- name: AddRowCounts :exec
-- @sqlc-vet-disable tenant
-- Adds the changes since the last run to the row counts. The view row_numbers has both.
WITH gone AS (
    DELETE FROM row_count_changes RETURNING scope, key, n
)
INSERT INTO row_counts (scope, key, n) SELECT g.scope, g.key, sum(g.n) FROM gone g GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (scope, key) DO UPDATE SET n = row_counts.n + excluded.n;

-- name: DeleteZeroRowCounts :exec
-- @sqlc-vet-disable tenant
DELETE FROM row_counts WHERE n = 0;

-- name: LockSummedUntil :one
-- @sqlc-vet-disable tenant
-- The time up to which the sums are written, of all tenants. open: a transaction is open that began before the given time
-- and has written something.
SELECT u.until, coalesce(older_writes(@before::timestamptz), true)::boolean AS open
FROM summed_until u WHERE u.name = @name FOR UPDATE OF u;

-- name: SetSummedUntil :exec
-- @sqlc-vet-disable tenant
UPDATE summed_until SET until = @until WHERE name = @name;
