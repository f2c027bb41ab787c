-- name: LockHold :exec
-- @sqlc-vet-disable tenant
-- A lock of the tenant, without a table. Waits for the deletions of the tenant's data that are running, and delays new ones.
SELECT pg_advisory_xact_lock(22, hashtext(@tenant_id::text));

-- name: ShareHold :exec
-- @sqlc-vet-disable tenant
-- A lock of the tenant, without a table. Delays a new legal hold until the transaction ends.
SELECT pg_advisory_xact_lock_shared(22, hashtext(@tenant_id::text));

-- name: IsHeld :one
SELECT EXISTS (SELECT FROM compliance_records WHERE tenant_id = @tenant_id AND legal_hold);

-- name: GetComplianceRecord :one
SELECT * FROM compliance_records WHERE tenant_id = @tenant_id;

-- name: PutComplianceRecord :one
INSERT INTO compliance_records (tenant_id, verification, risk_level, country, data_region, dpa_signed_at, terms_version, terms_accepted_at,
    legal_hold, next_review_at, notes, reviewed_at, reviewed_by)
VALUES (@tenant_id, @verification, @risk_level, @country, @data_region, @dpa_signed_at, @terms_version, @terms_accepted_at,
    @legal_hold, @next_review_at, @notes, @reviewed_at, @reviewed_by)
ON CONFLICT (tenant_id) DO UPDATE SET verification = excluded.verification, risk_level = excluded.risk_level, country = excluded.country,
    data_region = excluded.data_region, dpa_signed_at = excluded.dpa_signed_at, terms_version = excluded.terms_version,
    terms_accepted_at = excluded.terms_accepted_at, legal_hold = excluded.legal_hold, next_review_at = excluded.next_review_at,
    notes = excluded.notes, reviewed_at = excluded.reviewed_at, reviewed_by = excluded.reviewed_by
RETURNING *;

-- name: SumCompliance :one
-- @sqlc-vet-disable tenant
-- For the platform's admins: figures of the records of tenants that are not CANCELLED. Tenants without a record are not counted.
SELECT count(*) FILTER (WHERE r.verification = 'VERIFIED') AS verified, count(*) FILTER (WHERE r.verification = 'PENDING') AS pending,
    count(*) FILTER (WHERE r.verification = 'REJECTED') AS rejected, count(r.dpa_signed_at) AS with_dpa,
    count(*) FILTER (WHERE r.legal_hold) AS on_hold, count(*) FILTER (WHERE r.risk_level = 'HIGH') AS high_risk,
    count(*) FILTER (WHERE r.next_review_at <= @now::timestamptz) AS due
FROM compliance_records r JOIN tenants t ON t.id = r.tenant_id WHERE t.status <> 'CANCELLED';

-- name: ListComplianceRecords :many
-- @sqlc-vet-disable tenant
-- For the platform's admins: these tenants' records, of which there may be fewer.
SELECT * FROM compliance_records WHERE tenant_id = ANY (@ids::text[]);
