package bench

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// seeds fill the tables of one tenant. {i} stands for the rows i from 1 to n, {tenant} for the tenant's id, {at} for the time of row i,
// {id:x} for its id with the prefix x, and {id:x:1} for that of row 1. The times spread over the last 60 days, so that lists, figures
// and filters meet rows of any age.
func seeds() []string {
	return []string{
		`INSERT INTO tenants (id, name, status, plan, created_at, updated_at)
		 SELECT {id:ten}, 'Shop ' || i, (ARRAY['ACTIVE', 'TRIAL', 'PAST_DUE'])[1 + i % 3], (ARRAY['FREE', 'STARTER', 'PRO'])[1 + i % 3], {at}, {at} FROM {i}`,
		`INSERT INTO users (id, tenant_id, email, name, password_hash, role, created_at, updated_at)
		 SELECT {id:usr}, '{tenant}', 'user-' || i || '@acme.example', 'User ' || i, 'x', 'VIEWER', {at}, {at} FROM {i}`,
		`INSERT INTO api_keys (id, tenant_id, name, key_hash, prefix, last4, scopes, revoked_at, created_at)
		 SELECT {id:key}, '{tenant}', 'Key ' || i, sha256(i::text::bytea), 'sk_live_', 'abcd', '{}', {at}, {at} FROM {i}`,
		`INSERT INTO streams (id, tenant_id, name, mode, status, key_hash, key_last4, started_at, created_at, updated_at)
		 SELECT {id:str}, '{tenant}', 'Show ' || i, 'LOW_LATENCY', CASE WHEN i <= 100 THEN 'LIVE' ELSE 'ENDED' END, sha256(i::text::bytea), 'abcd', {at}, {at}, {at} FROM {i}`,
		`INSERT INTO audience_hours (tenant_id, stream_id, node, hour, viewers)
		 SELECT '{tenant}', {id:str:1 + bench_ids.i % 100}, CASE i % 10 WHEN 0 THEN 'srs' ELSE 'node' END, date_trunc('hour', now()) - i / 100 * interval '1 hour', array_fill(i % 50, ARRAY[60]) FROM {i}`,
		`INSERT INTO sessions (id, tenant_id, type, name, host_id, capacity, layout, state, started_at, ended_at, created_at, updated_at)
		 SELECT {id:sess}, '{tenant}', (ARRAY['conference', 'webinar', 'livestream'])[1 + i % 3], 'Talk ' || i, 'ada', 50, 'grid',
		     CASE WHEN i <= 50 THEN 'live' ELSE 'ended' END, {at}, CASE WHEN i > 50 THEN {at} END, {at}, {at} FROM {i}`,
		`INSERT INTO participants (room_id, user_id, tenant_id, role, can_publish_screen, state, joined_at, created_at, updated_at)
		 SELECT {id:sess:1}, 'user-' || i, '{tenant}', 'viewer', false, 'joined', {at}, {at}, {at} FROM {i}`,
		`INSERT INTO channels (id, tenant_id, kind, name, created_at, updated_at) SELECT {id:chan}, '{tenant}', 'group', 'Group ' || i, {at}, {at} FROM {i}`,
		`INSERT INTO channels (id, tenant_id, kind, created_at, updated_at) SELECT {id:str:1}, '{tenant}', 'stream', now(), now()`,
		`INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at) SELECT {id:chan}, 'ada', '{tenant}', 'host', {at} FROM {i}`,
		`INSERT INTO channel_members (channel_id, user_id, tenant_id, role, joined_at)
		 SELECT {id:chan:1}, 'user-' || i, '{tenant}', 'guest', {at} FROM {i}`,
		`INSERT INTO channel_messages (id, channel_id, tenant_id, author_id, author_name, body, created_at)
		 SELECT {id:msg}, CASE i % 2 WHEN 0 THEN {id:str:1} ELSE {id:chan:1} END, '{tenant}', 'ada', 'Ada', 'Hello ' || i, {at} FROM {i}`,
		`INSERT INTO channel_moderation (id, channel_id, tenant_id, kind, target, by_user, active, created_at)
		 SELECT {id:mod}, {id:chan:1}, '{tenant}', 'mute', 'user-' || i, 'ada', false, {at} FROM {i}`,
		`INSERT INTO products (id, tenant_id, external_id, name, price_cents, currency, stock, low_stock_at, search, created_at, updated_at)
		 SELECT {id:prod}, '{tenant}', 'SKU-' || i, 'Blue mug ' || i || ' of stoneware', 1999, 'USD', 40, 5, E'blue mug ' || i || E' of stoneware\nsku-' || i, {at}, {at} FROM {i}`,
		`INSERT INTO discounts (id, tenant_id, code, percent_off, created_at, updated_at) SELECT {id:disc}, '{tenant}', 'CODE' || i, 10, {at}, {at} FROM {i}`,
		`INSERT INTO auctions (id, tenant_id, product_id, stream_id, starting_bid_cents, bid_increment_cents, currency, anti_snipe_sec, status, ends_at, created_at, updated_at)
		 SELECT {id:auc}, '{tenant}', {id:prod}, {id:str:1}, 100, 100, 'USD', 10, CASE WHEN i <= 10 THEN 'LIVE' ELSE 'ENDED' END, {at}, {at}, {at} FROM {i}`,
		`INSERT INTO bids (id, tenant_id, auction_id, amount_cents, bidder_external_id, bidder_name, created_at)
		 SELECT {id:bid}, '{tenant}', {id:auc:1}, i, 'ada', 'Ada', {at} FROM {i}`,
		`INSERT INTO orders (id, tenant_id, status, stream_id, customer_external_id, subtotal_cents, discount_cents, total_cents, application_fee_cents, currency,
		     success_url, cancel_url, expires_at, paid_at, created_at, updated_at)
		 SELECT {id:ord}, '{tenant}', CASE WHEN i <= 10 THEN 'REFUNDED' ELSE 'PAID' END, {id:str:1 + bench_ids.i % 1000}, 'customer-' || i % 1000, 1999, 0, 1999, 0, 'USD',
		     'https://acme.example', 'https://acme.example', {at}, {at}, {at}, {at} FROM {i}`,
		`INSERT INTO order_items (order_id, position, tenant_id, product_id, name, price_cents, quantity)
		 SELECT {id:ord}, 1, '{tenant}', {id:prod}, 'Blue mug', 1999, 1 FROM {i}`,
		`INSERT INTO webhook_endpoints (id, tenant_id, url, events, secret, created_at, updated_at)
		 SELECT {id:wh}, '{tenant}', 'https://acme.example/' || i, '{}', '', now(), now() FROM bench_ids WHERE i <= 20`,
		`INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence)
		 SELECT {id:evt}, '{tenant}', CASE WHEN i <= 10 THEN 'auction.won' WHEN i % 2 = 0 THEN 'product.upserted' ELSE 'purchase.completed' END, 'prod_' || i % 1000,
		     '{"event":"product.upserted","tenantId":"{tenant}","occurredAt":"2026-01-01T00:00:00.000Z","data":{}}', {at}, i FROM {i}`,
		`INSERT INTO event_subjects (tenant_id, subject, sequence) SELECT '{tenant}', 'prod_' || i, i FROM {i}`,
		`INSERT INTO webhook_deliveries (id, tenant_id, endpoint_id, event_id, subject, sequence, status, attempts, tries, response_status, log, created_at, delivered_at)
		 SELECT {id:del}, '{tenant}', {id:wh:1}, {id:evt}, 'prod_' || i % 1000, i, CASE WHEN i <= 10 THEN 'failed' ELSE 'delivered' END, 1, 1, 204,
		     '[{"at": "2026-01-01T00:00:00Z", "durationMs": 12, "responseStatus": 204, "error": null}]', {at}, {at} FROM {i}`,
		`INSERT INTO audit_entries (id, at, actor_type, actor_id, tenant_id, action, entity, entity_id)
		 SELECT {id:aud}, {at}, (ARRAY['user', 'api_key'])[1 + i % 2], 'key_' || i % 10, '{tenant}', (ARRAY['stream.create', 'stream.rotate_key', 'product.archive'])[1 + i % 3],
		     (ARRAY['stream', 'stream', 'product'])[1 + i % 3], {id:str:1 + bench_ids.i % 1000} FROM {i}`,
		`INSERT INTO usage_intervals (key, tenant_id, resource_id, meter, from_at, to_at, amount)
		 SELECT decode(md5(i::text), 'hex'), '{tenant}', {id:str:1 + bench_ids.i % 1000}, 'VIEWER_MINUTES', {at}, {at}, 10 FROM {i}`,
		`INSERT INTO usage_hours (tenant_id, meter, hour, amount)
		 SELECT '{tenant}', (ARRAY['STREAM_MINUTES', 'VIEWER_MINUTES', 'EGRESS_BYTES'])[1 + i % 3], date_trunc('hour', now()) - i / 3 * interval '1 hour', 10 FROM {i}`,
		`INSERT INTO idempotency_keys (tenant_id, key, fingerprint, run_id, created_at, lease_until, status, content_type, body)
		 SELECT '{tenant}', 'key-' || i, sha256(''), 'run', {at}, {at}, 201, 'application/json', '' FROM {i}`,
	}
}

// functions of the seeds: the time of row i of n, evenly over the last 60 days, and an id of that time.
const seedFunctions = `
CREATE FUNCTION bench_at(i bigint, n bigint) RETURNS timestamptz LANGUAGE sql STABLE AS
$$ SELECT date_trunc('day', now()) + interval '1 minute' - interval '60 days' * (n - i) / n $$;
CREATE FUNCTION bench_id(prefix text, i bigint, n bigint) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT prefix || '_' || (SELECT string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', ((ms >> shift) & 31)::integer + 1, 1), '' ORDER BY shift DESC)
		FROM generate_series(0, 45, 5) AS shift, (SELECT (extract(epoch FROM bench_at(i, n)) * 1000)::bigint AS ms) t)
		|| lpad(i::text, 16, '0')
$$;`

// seed fills the tables with n rows each of one tenant, and brings their statistics up to date.
func (a *services) seed(b *testing.B, n int) {
	b.Helper()
	conn, err := a.pool.Acquire(b.Context())
	require.NoError(b, err)
	defer conn.Release()
	for _, statement := range []string{`SET statement_timeout = 0`, `SET synchronous_commit = off`, seedFunctions,
		fmt.Sprintf(`CREATE TABLE bench_ids AS SELECT i, substr(bench_id('', i, %d), 2) AS id FROM generate_series(1, %d) AS i`, n, n),
		`ALTER TABLE bench_ids ADD PRIMARY KEY (i)`} {
		_, err = conn.Exec(b.Context(), statement)
		require.NoError(b, err)
	}
	for _, statement := range seeds() {
		_, err := conn.Exec(b.Context(), a.seedStatement(statement, n))
		require.NoError(b, err, statement)
	}
	for _, statement := range []string{`VACUUM ANALYZE`, `RESET ALL`, `SET timezone = 'UTC'`, `CHECKPOINT`} {
		_, err = conn.Exec(b.Context(), statement)
		require.NoError(b, err)
	}
}

// seedStatement fills the marks of one of seeds.
func (a *services) seedStatement(statement string, n int) string {
	statement = regexp.MustCompile(`\{id:(\w+)\}`).ReplaceAllString(statement, "'${1}_' || id")
	statement = regexp.MustCompile(`\{id:(\w+):([^{}]+)\}`).ReplaceAllString(statement, "'${1}_' || (SELECT b.id FROM bench_ids b WHERE b.i = $2)")
	return strings.NewReplacer("{tenant}", a.caller.TenantID, "{i}", "bench_ids ORDER BY i", "{at}", fmt.Sprintf("bench_at(i, %d)", n)).Replace(statement)
}

// firstID returns the end of the ids of the first rows.
func (a *services) firstID(b *testing.B) (id string) {
	b.Helper()
	require.NoError(b, a.pool.QueryRow(b.Context(), `SELECT id FROM bench_ids WHERE i = 1`).Scan(&id))
	return id
}
