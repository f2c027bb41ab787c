-- name: LockSigningKeys :exec
-- @sqlc-vet-disable tenant
-- Like the other locks of this file, it is held until the transaction ends, and serialises work that several processes on
-- one database may start at the same time. The first key is the lock's kind. So a name that a client chose, such as an
-- e-mail address, never shares a lock with another kind. Names of one kind may share one, because their hash has 32 bits.
-- Processes of different versions may run at the same time: never give a number to another kind.
SELECT pg_advisory_xact_lock(1, 0);

-- name: LockAdmins :exec
-- @sqlc-vet-disable tenant
SELECT pg_advisory_xact_lock(2, 0);

-- name: LockSetting :exec
-- @sqlc-vet-disable tenant
SELECT pg_advisory_xact_lock(3, hashtext(@key::text));

-- name: LockInvitations :exec
-- @sqlc-vet-disable tenant
-- Serialises the invitations of an address by all tenants.
SELECT pg_advisory_xact_lock(4, hashtext(@email::text));

-- name: TryLockFanOut :one
-- @sqlc-vet-disable tenant
-- Returns false when another transaction holds the lock; it doesn't wait.
SELECT pg_try_advisory_xact_lock(5, hashtext(@tenant_id::text));
