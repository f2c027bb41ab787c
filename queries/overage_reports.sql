-- name: CreateOverageReport :exec
INSERT INTO overage_reports (id, tenant_id, period_start, meter, cents, at, status, created_at)
VALUES (@id, @tenant_id, @period_start, @meter, @cents, @at, 'OPEN', @now);

-- name: ListOpenOverageReports :many
-- The oldest first.
SELECT * FROM overage_reports WHERE tenant_id = @tenant_id AND status = 'OPEN' ORDER BY created_at, id;

-- name: SumOverageReports :many
-- The reported cents of each period and meter, without lost reports.
SELECT period_start, meter, sum(cents)::bigint AS cents FROM overage_reports
WHERE tenant_id = @tenant_id AND period_start = ANY (@period_starts::timestamptz[]) AND status <> 'LOST' GROUP BY period_start, meter;

-- name: ListOverageMinutes :many
-- The times of a meter's reports since a time.
SELECT at FROM overage_reports WHERE tenant_id = @tenant_id AND meter = @meter AND date_trunc('minute', at AT TIME ZONE 'UTC') >= date_trunc('minute', sqlc.arg('since')::timestamptz AT TIME ZONE 'UTC') ORDER BY at;

-- name: AcceptOverageReport :exec
UPDATE overage_reports SET accepted_at = coalesce(accepted_at, @now) WHERE tenant_id = @tenant_id AND id = @id;

-- name: SettleOverageReport :execrows
UPDATE overage_reports SET status = @status WHERE tenant_id = @tenant_id AND id = @id AND status = 'OPEN';
