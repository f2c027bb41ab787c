-- name: LockName :exec
-- @sqlc-vet-disable tenant
-- Serialises what several processes on one database may begin at once.
SELECT pg_advisory_xact_lock(hashtext(@name::text));

-- name: TryLockName :one
-- @sqlc-vet-disable tenant
-- LockName without waiting: false when another transaction holds it.
SELECT pg_try_advisory_xact_lock(hashtext(@name::text));
