-- name: GetCheckoutSeller :one
-- @sqlc-vet-disable tenant
-- The id is the tenant. Returns what a checkout needs of the tenant, in one round trip with the locks. Without a stream_id,
-- no stream is unknown.
SELECT t.charges_enabled, coalesce(se.processor_account_id, '')::text AS account_id,
    (sqlc.narg('stream_id')::text IS NULL OR EXISTS (SELECT 1 FROM streams st WHERE st.tenant_id = t.id AND st.id = sqlc.narg('stream_id')))::boolean AS stream_known
FROM tenants t LEFT JOIN sellers se ON se.tenant_id = t.id WHERE t.id = @tenant_id;

-- name: CreateOrder :exec
WITH made AS (
    INSERT INTO orders (id, tenant_id, stream_id, auction_id, customer_external_id, customer_email, subtotal_cents, discount_cents, total_cents,
        application_fee_cents, currency, discount_id, discount_code, success_url, cancel_url, metadata, customer_name, processor_account_id, expires_at,
        check_at, check_set_at, created_at, updated_at)
    VALUES (@id, @tenant_id, sqlc.narg('stream_id'), sqlc.narg('auction_id'), @customer_external_id, sqlc.narg('customer_email'), @subtotal_cents, @discount_cents, @total_cents,
        @application_fee_cents, @currency, sqlc.narg('discount_id'), sqlc.narg('discount_code'), @success_url, @cancel_url, @metadata,
        sqlc.narg('customer_name'), sqlc.narg('processor_account_id'), @expires_at, @check_at::timestamptz, @now::timestamptz, @now::timestamptz, @now::timestamptz)
    RETURNING id, tenant_id
)
INSERT INTO order_items (order_id, tenant_id, position, product_id, name, price_cents, quantity)
SELECT made.id, made.tenant_id, i.position, i.product_id, i.name, i.price_cents, i.quantity
FROM made, (SELECT generate_subscripts(@product_ids::text[], 1) AS position, unnest(@product_ids::text[]) AS product_id, unnest(@names::text[]) AS name,
    unnest(@prices_cents::bigint[]) AS price_cents, unnest(@quantities::integer[]) AS quantity) i;

-- name: AttachPage :exec
-- Keeps values that a faster report has already stored.
UPDATE orders SET checkout_session_id = @session_id, checkout_url = @url, expires_at = @expires_at, check_at = @check_at::timestamptz, check_set_at = @now::timestamptz, checks = 0,
    search_after = NULL, search_began_at = NULL, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND id = @id AND status = 'PENDING' AND checkout_session_id IS NULL;

-- name: GetOrder :one
SELECT * FROM orders WHERE tenant_id = @tenant_id AND id = @id;

-- name: GetOrderForCheck :one
-- @sqlc-vet-disable tenant
-- The job knows only the order.
SELECT * FROM orders WHERE id = @id;

-- name: LockOrder :one
SELECT * FROM orders WHERE tenant_id = @tenant_id AND id = @id FOR UPDATE;

-- name: FindOrderOfPage :one
-- @sqlc-vet-disable tenant
-- A report names the payment page's session and its order; the caller checks under the order's lock whether they belong together.
SELECT o.tenant_id, o.id, o.auction_id FROM orders o
WHERE o.checkout_session_id = @session_id OR o.id = @order_id::text AND o.checkout_session_id IS NULL
ORDER BY o.checkout_session_id NULLS LAST LIMIT 1;

-- name: ListOrders :many
SELECT * FROM orders
WHERE tenant_id = @tenant_id
  AND (sqlc.narg('status')::text IS NULL OR status = sqlc.narg('status')::text)
  AND (sqlc.narg('stream_id')::text IS NULL OR stream_id = sqlc.narg('stream_id')::text)
  AND (sqlc.narg('customer')::text IS NULL OR customer_external_id = sqlc.narg('customer')::text)
  AND (sqlc.narg('cursor')::text IS NULL OR id < sqlc.narg('cursor')::text)
ORDER BY id DESC LIMIT @max_rows;

-- name: ListOrderItems :many
SELECT * FROM order_items WHERE tenant_id = @tenant_id AND order_id = ANY (@order_ids::text[]) ORDER BY order_id, position;

-- name: PayOrder :exec
-- The row is locked.
UPDATE orders SET status = 'PAID', paid_at = @now::timestamptz, payment_intent_id = sqlc.narg('payment_intent_id'),
    paid_cents = sqlc.narg('paid_cents'), paid_currency = sqlc.narg('paid_currency'),
    customer_email = coalesce(customer_email, sqlc.narg('customer_email')), checkout_session_id = @session_id, check_at = NULL, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND id = @id;

-- name: ReviewOrder :exec
-- The row is locked. The payment is below the total, or in another currency.
UPDATE orders SET status = 'REVIEW', payment_intent_id = sqlc.narg('payment_intent_id'),
    paid_cents = sqlc.narg('paid_cents'), paid_currency = sqlc.narg('paid_currency'),
    customer_email = coalesce(customer_email, sqlc.narg('customer_email')), checkout_session_id = @session_id, check_at = NULL, updated_at = @now::timestamptz
WHERE tenant_id = @tenant_id AND id = @id;

-- name: ExpireOrder :exec
-- The row is locked.
UPDATE orders SET status = 'EXPIRED', checkout_session_id = coalesce(checkout_session_id, sqlc.narg('session_id')), check_at = NULL, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id;

-- name: AwaitOrder :exec
-- The row is locked. Stores the state of a payment page that is still open.
UPDATE orders SET checkout_session_id = @session_id, checkout_url = coalesce(nullif(@url::text, ''), checkout_url), expires_at = @expires_at,
    check_at = @check_at::timestamptz, check_set_at = @now::timestamptz, checks = @checks, search_after = NULL, search_began_at = NULL,
    updated_at = CASE WHEN checkout_session_id IS NULL THEN @now::timestamptz ELSE updated_at END
WHERE tenant_id = @tenant_id AND id = @id;

-- name: PostponeCheck :exec
UPDATE orders SET check_at = @check_at::timestamptz, check_set_at = @now::timestamptz, checks = @checks,
    search_after = sqlc.narg('search_after'), search_began_at = sqlc.narg('search_began_at')
WHERE tenant_id = @tenant_id AND id = @id AND status = 'PENDING';

-- name: ClaimPage :execrows
-- Stores the account for a winner's page before the page is requested from the processor.
UPDATE orders SET processor_account_id = @account_id, application_fee_cents = @fee_cents, expires_at = @expires_at, updated_at = @now
WHERE tenant_id = @tenant_id AND id = @id AND status = 'PENDING' AND checkout_session_id IS NULL;

-- name: TakeDueOrders :many
-- @sqlc-vet-disable tenant
-- Covers all tenants. Moves the next check of the orders ahead: if the job is lost, another one follows. A check that is too far
-- ahead, because a clock was set back since, is due too.
UPDATE orders o SET check_at = @next::timestamptz, check_set_at = @now::timestamptz
FROM (SELECT d.id FROM orders d WHERE d.check_at <= @now::timestamptz OR d.check_at IS NOT NULL AND d.check_set_at > @ahead::timestamptz
    ORDER BY d.check_at LIMIT @max_rows FOR UPDATE SKIP LOCKED) due
WHERE o.id = due.id RETURNING o.id;

-- name: AskPayment :one
-- Returns a new number for a query to the processor about an order's payment.
UPDATE orders SET payment_asked = payment_asked + 1 WHERE tenant_id = @tenant_id AND id = @id RETURNING payment_asked;

-- name: SetPaymentAnswered :exec
-- The row is locked.
UPDATE orders SET payment_answered = @question, updated_at = CASE WHEN @changed::boolean THEN @now::timestamptz ELSE updated_at END
WHERE tenant_id = @tenant_id AND id = @id;

-- name: SetOrderMetadata :exec
-- The row is locked.
UPDATE orders SET metadata = @metadata, updated_at = @now WHERE tenant_id = @tenant_id AND id = @id;

-- name: FulfilOrder :exec
UPDATE orders SET status = @status, fulfilled_at = @now::timestamptz, updated_at = @now::timestamptz WHERE tenant_id = @tenant_id AND id = @id;

-- name: SumStreamOrders :many
-- The orders of a stream in each currency: all of them, those that were paid, and the amount that buyers were charged.
SELECT lower(coalesce(o.paid_currency, o.currency))::text AS currency, count(*) AS checkouts, count(*) FILTER (WHERE o.paid_at IS NOT NULL) AS paid,
    coalesce(sum(coalesce(o.paid_cents, o.total_cents)) FILTER (WHERE o.paid_at IS NOT NULL), 0)::bigint AS charged_cents
FROM orders o WHERE o.tenant_id = @tenant_id AND o.stream_id = @stream_id GROUP BY 1 ORDER BY 1;

-- name: SumStreamProducts :many
-- The paid units of each product in a stream.
SELECT i.product_id, count(*) AS orders, sum(i.quantity)::bigint AS units
FROM orders o JOIN order_items i ON i.tenant_id = o.tenant_id AND i.order_id = o.id
WHERE o.tenant_id = @tenant_id AND o.stream_id = @stream_id AND o.paid_at IS NOT NULL
GROUP BY i.product_id ORDER BY units DESC, i.product_id;

-- name: ListUnpaidOrders :many
-- The newest 50 orders of a customer in a stream that await payment, without those of auctions, with their products.
SELECT o.id, o.processor_account_id, o.checkout_session_id,
    ARRAY(SELECT i.product_id FROM order_items i WHERE i.tenant_id = o.tenant_id AND i.order_id = o.id ORDER BY i.position)::text[] AS product_ids,
    ARRAY(SELECT i.quantity FROM order_items i WHERE i.tenant_id = o.tenant_id AND i.order_id = o.id ORDER BY i.position)::bigint[] AS quantities
FROM orders o
WHERE o.tenant_id = @tenant_id AND o.customer_external_id = @customer AND o.stream_id = @stream_id AND o.status = 'PENDING' AND o.auction_id IS NULL
ORDER BY o.id DESC LIMIT 50;

-- name: SumPlatformFees :many
-- @sqlc-vet-disable tenant
-- For the platform's operators: fees by calendar month (UTC) of the payment and currency.
SELECT date_trunc('month', paid_at, 'UTC')::timestamptz AS month, upper(coalesce(paid_currency, currency))::text AS currency, sum(application_fee_cents)::bigint AS cents
FROM orders WHERE paid_at >= @since::timestamptz AND paid_at < @until::timestamptz AND application_fee_cents > 0 GROUP BY 1, 2 ORDER BY 1, 2;
