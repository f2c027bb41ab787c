-- name: CreateRevenueEntry :exec
INSERT INTO revenue_entries (tenant_id, subscription_id, invoice_id, kind, plan, currency, amount_cents, at)
VALUES (@tenant_id, @subscription_id, @invoice_id, @kind, @plan, @currency, @amount_cents, @at);

-- name: HasRecurringRevenue :one
-- Whether a subscription of the tenant ever counted as recurring revenue.
SELECT EXISTS (SELECT FROM revenue_entries WHERE tenant_id = @tenant_id AND kind = 'NEW');

-- name: SumRevenueByMonth :many
-- @sqlc-vet-disable tenant
-- For the platform's operators: sums and numbers of entries by calendar month (UTC), kind and currency.
SELECT date_trunc('month', at, 'UTC')::timestamptz AS month, kind, currency, sum(amount_cents)::bigint AS cents, count(*) AS n
FROM revenue_entries WHERE at >= @since::timestamptz AND at < @until::timestamptz GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: SumRevenue :many
-- @sqlc-vet-disable tenant
-- For the platform's operators: sums and numbers of entries by kind and currency.
SELECT kind, currency, sum(amount_cents)::bigint AS cents, count(*) AS n
FROM revenue_entries WHERE at >= @since::timestamptz AND at < @until::timestamptz GROUP BY 1, 2 ORDER BY 1, 2;
