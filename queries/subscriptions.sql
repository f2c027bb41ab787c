-- name: ListSubscriptionsOfTenant :many
-- Newest first.
SELECT * FROM subscriptions WHERE tenant_id = @tenant_id ORDER BY created_at DESC, id DESC LIMIT 100;

-- name: GetSubscription :one
-- @sqlc-vet-disable tenant
-- For the platform's operators.
SELECT sqlc.embed(s), t.name AS tenant_name, p.id AS plan_id, c.processor_customer_id
FROM subscriptions s JOIN tenants t ON t.id = s.tenant_id JOIN plans p ON p.tier = s.plan
LEFT JOIN billing_customers c ON c.tenant_id = s.tenant_id WHERE s.id = @id;

-- name: ListPlatformSubscriptions :many
-- @sqlc-vet-disable tenant
-- For the platform's operators. Newest first. Finds the page along an index before it reads rows.
WITH page AS MATERIALIZED (
    SELECT f.id FROM subscriptions f WHERE (sqlc.narg('status')::text IS NULL OR f.status = sqlc.narg('status'))
    ORDER BY f.created_at DESC, f.id DESC LIMIT @max_rows OFFSET @skip::bigint
)
SELECT sqlc.embed(s), t.name AS tenant_name, p.id AS plan_id, c.processor_customer_id
FROM page JOIN subscriptions s ON s.id = page.id JOIN tenants t ON t.id = s.tenant_id JOIN plans p ON p.tier = s.plan
LEFT JOIN billing_customers c ON c.tenant_id = s.tenant_id
ORDER BY s.created_at DESC, s.id DESC;

-- name: CountPlatformSubscriptions :many
-- @sqlc-vet-disable tenant
-- The kept numbers of all tenants' subscriptions, for the platform's operators.
SELECT substr(c.key, 2)::text AS status, sum(c.n)::bigint AS n FROM row_numbers c
WHERE c.scope = 'subscriptions_by_status' AND c.key IN (SELECT '/' || s.status FROM unnest(@statuses::text[]) AS s (status)) GROUP BY 1 HAVING sum(c.n) > 0;

-- name: SumRecurring :many
-- @sqlc-vet-disable tenant
-- The monthly recurring revenue by plan and currency, for the platform's operators.
SELECT plan, currency, sum(monthly_cents)::bigint AS cents, count(*) AS n FROM subscriptions WHERE monthly_cents > 0 GROUP BY plan, currency ORDER BY currency, plan;

-- name: CountSubscriptionOutlook :one
-- @sqlc-vet-disable tenant
-- For the platform's operators: trials that end until a time, and subscriptions that end with their period.
SELECT (SELECT count(*) FROM subscriptions WHERE status = 'TRIALING' AND trial_ends_at < @until::timestamptz)::bigint AS trials_ending,
    (SELECT count(*) FROM subscriptions WHERE cancel_at_period_end AND status <> 'CANCELED')::bigint AS canceling;

-- name: CreateSubscription :exec
INSERT INTO subscriptions (id, tenant_id, processor_subscription_id, plan, status, billing_interval, price_cents, currency, collection,
    trial_ends_at, period_start, period_end, cancel_at_period_end, canceled_at, paused_at, unpaid_at, pending_plan, pending_interval, pending_at,
    payment_url, trial_reminded, monthly_cents, created_at, updated_at)
VALUES (@id, @tenant_id, @processor_subscription_id, @plan, @status, @billing_interval, @price_cents, @currency, @collection,
    @trial_ends_at, @period_start, @period_end, @cancel_at_period_end, @canceled_at, @paused_at, @unpaid_at, @pending_plan, @pending_interval, @pending_at,
    @payment_url, @trial_reminded, @monthly_cents, @created_at, @updated_at);

-- name: UpdateSubscription :exec
UPDATE subscriptions SET plan = @plan, status = @status, billing_interval = @billing_interval, price_cents = @price_cents, currency = @currency,
    collection = @collection, trial_ends_at = @trial_ends_at, period_start = @period_start, period_end = @period_end,
    cancel_at_period_end = @cancel_at_period_end, canceled_at = @canceled_at, paused_at = @paused_at, unpaid_at = @unpaid_at,
    pending_plan = @pending_plan, pending_interval = @pending_interval, pending_at = @pending_at, payment_url = @payment_url,
    trial_reminded = @trial_reminded, monthly_cents = @monthly_cents, updated_at = @updated_at
WHERE tenant_id = @tenant_id AND id = @id;

-- name: ListDueSubscriptions :many
-- @sqlc-vet-disable tenant
-- Covers all tenants: those with a trial that ends until a time and has no reminder yet, with a trial that ended, or with a
-- grace period that ended.
SELECT DISTINCT tenant_id FROM (
    (SELECT s.tenant_id FROM subscriptions s WHERE s.status = 'TRIALING' AND s.trial_ends_at <= @remind_until::timestamptz
        AND (NOT s.trial_reminded OR (s.processor_subscription_id IS NULL AND s.trial_ends_at <= @now::timestamptz))
     ORDER BY s.trial_ends_at LIMIT @max_rows)
    UNION ALL
    (SELECT u.tenant_id FROM subscriptions u JOIN billing_customers c ON c.tenant_id = u.tenant_id
     WHERE u.status = 'UNPAID' AND u.unpaid_at <= @grace_began::timestamptz AND c.granted_plan = u.plan
     ORDER BY u.unpaid_at LIMIT @max_rows)
) due;
