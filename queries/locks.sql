-- name: LockName :exec
-- @sqlc-vet-disable tenant
-- Serialises work that several processes on one database may start at the same time.
SELECT pg_advisory_xact_lock(hashtext(@name::text));

-- name: TryLockName :one
-- @sqlc-vet-disable tenant
-- Like LockName, without waiting: false when another transaction holds the lock.
SELECT pg_try_advisory_xact_lock(hashtext(@name::text));
