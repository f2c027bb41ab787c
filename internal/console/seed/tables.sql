-- Tables in the order in which they refer to each other. The line before a statement has the table, the prefix of its ids ("-" for none)
-- and the count that it has rows of (Counts). The statement writes the rows $1 to $2. It contains these marks:
--
--   {i}            the rows
--   {id:x}         the id of row i with the prefix x
--   {id:x:same}    the id of a row of the table with that prefix, of the same tenant
--   {id:x:2}       the id of row 2 of that table
--   {tenant}       the tenant of row i
--   {at}           the time of row i, evenly over the days
--   {live}         the number of rows that are on air
--   {set}          a text that other sets of rows don't contain
--
-- Rows that exist are skipped, and so are hours that another row of the tenant has already: ON CONFLICT DO NOTHING is added, except where the statement itself skips them.

-- table: tenants; prefix: ten; rows: tenants
INSERT INTO tenants (id, name, status, plan, created_at, updated_at)
SELECT {id:ten}, 'Shop ' || i, (ARRAY['ACTIVE', 'TRIAL', 'PAST_DUE'])[1 + i % 3], (ARRAY['FREE', 'STARTER', 'PRO'])[1 + i % 3], {at}, {at} FROM {i}

-- table: users; prefix: user; rows: rows
INSERT INTO users (id, tenant_id, email, name, password_hash, role, created_at, updated_at)
SELECT {id:user}, {tenant}, 'user-' || i || '@{set}.example', 'User ' || i, 'x', 'VIEWER', {at}, {at} FROM {i}

-- table: api_keys; prefix: key; rows: rows
INSERT INTO api_keys (id, tenant_id, name, key_hash, prefix, last4, scopes, revoked_at, created_at)
SELECT {id:key}, {tenant}, 'Key ' || i, sha256(gen_random_uuid()::text::bytea), 'sk_live_', 'abcd', '{}', {at}, {at} FROM {i}

-- table: streams; prefix: str; rows: streams
INSERT INTO streams (id, tenant_id, name, mode, status, key_hash, key_last4, started_at, created_at, updated_at)
SELECT {id:str}, {tenant}, 'Show ' || i, 'LOW_LATENCY', CASE WHEN i <= {live} THEN 'LIVE' ELSE 'ENDED' END,
    sha256(gen_random_uuid()::text::bytea), 'abcd', -- the key is unknown
    {at}, {at}, {at} FROM {i}

-- table: stream_keys; prefix: skey; rows: streams
INSERT INTO stream_keys (id, tenant_id, stream_id, hash, last4, consumed_at, last_used_at, created_at)
SELECT {id:skey}, stream.tenant_id, stream.id, stream.key_hash, 'abcd', {at}, {at}, {at} FROM {i} JOIN streams AS stream ON stream.id = {id:str}

-- table: audience_hours; prefix: -; rows: rows
INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
SELECT {tenant}, {id:str:same}, CASE i % 10 WHEN 0 THEN 'srs' ELSE 'node' END, date_trunc('hour', {at}, 'UTC'),
    array_fill((i % 50)::integer, ARRAY[60]) FROM {i}

-- table: recordings; prefix: rec; rows: rows
INSERT INTO recordings (id, tenant_id, stream_id, source, status, broadcast_at, started_at, ended_at, duration_ms, size_bytes, node, wanted_at,
    deleted_at, deleted_reason, files_deleted_at, created_at, updated_at)
SELECT {id:rec}, {tenant}, {id:str:same}, 'external', CASE WHEN i % 10 < 2 THEN 'DELETED' ELSE 'READY' END, {at}, {at}, {at}, 60000, 20000000, '', {at},
    CASE WHEN i % 10 < 2 THEN {at} END, CASE WHEN i % 10 < 2 THEN 'seed' END, CASE WHEN i % 10 < 2 THEN {at} END, {at}, {at} FROM {i}

-- table: sessions; prefix: sess; rows: rows
INSERT INTO sessions (id, tenant_id, type, name, host_id, capacity, layout, state, started_at, ended_at, created_at, updated_at)
SELECT {id:sess}, {tenant}, (ARRAY['conference', 'webinar', 'livestream'])[1 + i % 3], 'Talk ' || i, 'ada', 50, 'grid',
    CASE WHEN i <= {live} THEN 'live' ELSE 'ended' END, {at}, CASE WHEN i > {live} THEN {at} END, {at}, {at} FROM {i}

-- table: participants; prefix: -; rows: rows
INSERT INTO participants (room_id, user_id, tenant_id, role, can_publish_screen, state, joined_at, created_at, updated_at)
SELECT {id:sess:2}, 'user-' || i, (SELECT tenant_id FROM sessions WHERE id = {id:sess:2}), 'viewer', false, 'joined', {at}, {at}, {at} FROM {i}

-- table: channels; prefix: chan; rows: rows
INSERT INTO channels (id, tenant_id, kind, name, created_at, updated_at)
SELECT {id:chan}, {tenant}, 'group', 'Group ' || i, {at}, {at} FROM {i}

-- table: channels of streams; prefix: -; rows: twoPerTenant
INSERT INTO channels (id, tenant_id, kind, created_at, updated_at)
SELECT {id:str}, {tenant}, 'stream', {at}, {at} FROM {i}

-- table: channel_members of one user; prefix: -; rows: rows
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at)
SELECT {id:chan}, 'ada', {tenant}, 'host', {at} FROM {i}

-- table: channel_members of one channel; prefix: -; rows: rows
INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at, muted)
SELECT {id:chan:2}, 'user-' || i, (SELECT tenant_id FROM channels WHERE id = {id:chan:2}), 'guest', {at}, i % 2 = 0 FROM {i}

-- table: channel_messages; prefix: msg; rows: rows
INSERT INTO channel_messages (id, channel_id, tenant_id, author_id, author_name, body, created_at)
SELECT {id:msg}, channel.id, channel.tenant_id, 'ada', 'Ada', 'Hello ' || i, {at} FROM {i}
JOIN channels AS channel ON channel.id = CASE i % 4 WHEN 0 THEN {id:str:2} ELSE {id:chan:2} END

-- table: channel_moderation; prefix: mod; rows: rows
INSERT INTO channel_moderation (id, channel_id, tenant_id, kind, target, by_user, active, created_at)
SELECT {id:mod}, channel.id, channel.tenant_id, 'mute', 'user-' || i, 'ada', i % 2 = 0, {at} FROM {i} JOIN channels AS channel ON channel.id = {id:chan:2}

-- table: products; prefix: prod; rows: rows
INSERT INTO products
    (id, tenant_id, external_id, name, price_cents, currency, stock, low_stock_at, search, created_at, updated_at)
SELECT {id:prod}, {tenant}, 'SKU-{set}-' || i, 'Blue mug ' || i || ' of stoneware', 1999, 'USD', 40, 5,
    E'blue mug ' || i || E' of stoneware\nsku-' || i, {at}, {at} FROM {i}

-- table: discounts; prefix: disc; rows: rows
INSERT INTO discounts (id, tenant_id, code, percent_off, created_at, updated_at)
SELECT {id:disc}, {tenant}, upper('{set}') || i, 10, {at}, {at} FROM {i}

-- table: auctions; prefix: auc; rows: rows
INSERT INTO auctions (id, tenant_id, product_id, stream_id, starting_bid_cents, bid_increment_cents, currency, anti_snipe_sec,
    status, ends_at, created_at, updated_at)
SELECT {id:auc}, {tenant}, {id:prod}, {id:str:same}, 100, 100, 'USD', 10, CASE WHEN i <= {live} THEN 'LIVE' ELSE 'ENDED' END, {at}, {at}, {at} FROM {i}

-- table: bids; prefix: bid; rows: rows
INSERT INTO bids (id, tenant_id, auction_id, amount_cents, bidder_external_id, bidder_name, created_at)
SELECT {id:bid}, auction.tenant_id, auction.id, i, 'ada', 'Ada', {at} FROM {i} JOIN auctions AS auction ON auction.id = {id:auc:2}

-- table: orders; prefix: ord; rows: rows
INSERT INTO orders (id, tenant_id, status, stream_id, customer_external_id, subtotal_cents, discount_cents, total_cents,
    application_fee_cents, currency, success_url, cancel_url, expires_at, paid_at, created_at, updated_at)
SELECT {id:ord}, {tenant}, CASE WHEN i <= 20 THEN 'REFUNDED' ELSE 'PAID' END, {id:str:same}, 'customer-' || i % 1000, 1999, 0, 1999, 0, 'USD',
    'https://shop.example', 'https://shop.example', {at}, {at}, {at}, {at} FROM {i}

-- table: order_items; prefix: -; rows: rows
INSERT INTO order_items (order_id, position, tenant_id, product_id, name, price_cents, quantity)
SELECT {id:ord}, 1, {tenant}, {id:prod}, 'Blue mug', 1999, 1 FROM {i}

-- table: webhook_endpoints; prefix: wh; rows: twoPerTenant
INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, status, created_at, updated_at)
SELECT {id:wh}, {tenant}, 'https://hooks.example/' || i, '{}', '', 'disabled', {at}, {at} FROM {i}

-- table: events; prefix: evt; rows: deliveries
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
SELECT {id:evt}, {tenant}, CASE WHEN i <= 20 THEN 'auction.won' WHEN i % 4 < 2 THEN 'product.upserted' ELSE 'purchase.completed' END,
    'prod_{set}' || i % 1000,
    format('{"event":"product.upserted","tenantId":"%s","occurredAt":"2026-01-01T00:00:00.000Z","data":{}}', {tenant})::json, {at}, i FROM {i}

-- table: event_subjects; prefix: -; rows: rows
INSERT INTO event_subjects (tenant_id, subject, sequence) SELECT {tenant}, 'prod_{set}' || i, i FROM {i}

-- table: webhook_deliveries; prefix: del; rows: deliveries
INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, status, attempts, tries,
    response_status, log, created_at, delivered_at)
SELECT {id:del}, {tenant}, CASE i % 2 WHEN 0 THEN {id:wh:2} ELSE {id:wh:same} END, {id:evt}, 'prod_{set}' || i % 1000, i,
    CASE WHEN i <= 20 THEN 'failed' ELSE 'delivered' END, 1, 1, 204,
    '[{"at": "2026-01-01T00:00:00Z", "durationMs": 12, "responseStatus": 204, "error": null}]', {at}, {at} FROM {i}

-- table: audit_entries; prefix: aud; rows: auditEntries
INSERT INTO audit_entries (id, at, actor_type, actor_id, tenant_id, action, entity, entity_id)
SELECT {id:aud}, {at}, (ARRAY['user', 'api_key'])[1 + i / 2 % 2], 'key_' || i / 2 % 10, {tenant},
    (ARRAY['stream.create', 'stream.rotate_key', 'product.archive'])[1 + i % 3], (ARRAY['stream', 'stream', 'product'])[1 + i % 3], {id:str:same} FROM {i}
WHERE NOT EXISTS (SELECT FROM audit_entries WHERE id = {id:aud})

-- table: usage_intervals; prefix: -; rows: rows
INSERT INTO usage_intervals (key, tenant_id, resource_id, meter, from_at, to_at, amount)
SELECT decode(md5('{set}' || i), 'hex'), {tenant}, {id:str:same}, 'VIEWER_MINUTES', {at}, {at}, 10 FROM {i}

-- table: usage_hours; prefix: -; rows: rows
INSERT INTO usage_hours (tenant_id, meter, hour, amount)
SELECT {tenant}, (ARRAY['STREAM_MINUTES', 'VIEWER_MINUTES', 'EGRESS_BYTES'])[1 + i % 3], date_trunc('hour', {at}, 'UTC'), 10
FROM {i}

-- table: idempotency_keys; prefix: -; rows: rows
INSERT INTO idempotency_keys (tenant_id, key, fingerprint, run_id, created_at, lease_until, status, content_type, body)
SELECT {tenant}, 'key-{set}-' || i, sha256(''), 'run', {at}, {at}, 201, 'application/json', '' FROM {i}

-- table: subscriptions; prefix: sub; rows: rows
INSERT INTO subscriptions (id, tenant_id, plan, status, billing_interval, price_cents, currency, collection, period_start, period_end,
    cancel_at_period_end, canceled_at, created_at, updated_at)
SELECT {id:sub}, {tenant}, (ARRAY['STARTER', 'PRO'])[1 + i / 2 % 2], 'CANCELED', 'MONTH', 4900, 'USD', 'CHARGE', {at}, {at}, false, {at}, {at}, {at} FROM {i}

-- table: invoices; prefix: inv; rows: rows
INSERT INTO invoices (id, tenant_id, processor_invoice_id, subscription_id, number, status, currency, subtotal_cents, tax_cents, total_cents,
    paid_cents, due_cents, refunded_cents, failed_attempts, period_start, period_end, paid_at, lines, created_at, updated_at)
SELECT {id:inv}, {tenant}, 'in_{set}' || i, {id:sub:same}, '{set}-' || i, CASE WHEN i <= 20 THEN 'VOID' ELSE 'PAID' END, 'USD', 4900, 0, 4900,
    CASE WHEN i <= 20 THEN 0 ELSE 4900 END, 0, 0, 0, {at}, {at}, CASE WHEN i > 20 THEN {at} END, '[]', {at}, {at} FROM {i}

-- table: tickets; prefix: tick; rows: rows
INSERT INTO tickets (id, tenant_id, subject, status, priority, requester_id, requester_name, requester_email, message_count, public_count,
    last_message_at, closed_at, created_at, updated_at)
SELECT {id:tick}, {tenant}, 'Question ' || i, CASE WHEN i <= {live} THEN 'OPEN' ELSE 'CLOSED' END, (ARRAY['LOW', 'NORMAL', 'HIGH', 'URGENT'])[1 + i / 2 % 4],
    {id:user:same}, 'User', 'user@{set}.example', 1, 1, {at}, CASE WHEN i > {live} THEN {at} END, {at}, {at} FROM {i}

-- table: ticket_messages; prefix: tmsg; rows: rows
INSERT INTO ticket_messages (id, tenant_id, ticket_id, author_type, author_name, body, internal, created_at)
SELECT {id:tmsg}, {tenant}, {id:tick}, 'TENANT', 'User', 'Question ' || i, false, {at} FROM {i}

-- table: compliance_records; prefix: -; rows: tenants
INSERT INTO compliance_records (tenant_id, verification, risk_level, legal_hold, reviewed_at, reviewed_by)
SELECT {id:ten}, (ARRAY['VERIFIED', 'PENDING'])[1 + i % 2], (ARRAY['LOW', 'MEDIUM', 'HIGH'])[1 + i % 3], false, {at}, 'adm_seed'
FROM {i} WHERE EXISTS (SELECT FROM tenants WHERE id = {id:ten})
