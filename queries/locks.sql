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

-- name: TryLockFanOut :many
-- @sqlc-vet-disable tenant
-- Returns the tenants that are locked now. It doesn't wait for those that another transaction has locked. OFFSET 0 makes the
-- function run once for each tenant.
SELECT t.tenant_id::text FROM (
    SELECT w.tenant_id, pg_try_advisory_xact_lock(5, hashtext(w.tenant_id)) AS locked FROM unnest(@tenant_ids::text[]) AS w (tenant_id) OFFSET 0
) t WHERE t.locked;

-- name: LimitFanOut :exec
-- @sqlc-vet-disable tenant
-- Limits the rest of the transaction. It holds the locks of many tenants, which must not wait for the locks of one tenant's rows, or
-- for a server that was stopped.
SELECT set_config('lock_timeout', '1s', true), set_config('statement_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '5s', true);

-- name: LockFirstPartyApps :exec
-- @sqlc-vet-disable tenant
-- One app is created at a time, so that two can't get the same name.
SELECT pg_advisory_xact_lock(31, 0);
