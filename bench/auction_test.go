package bench

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/secret"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/account"
)

const (
	bidders   = 64
	bidRounds = 3
	bidTime   = 5 * time.Second
)

// BenchmarkBids lets 64 bidders bid in one auction on the built server as fast as it
// answers. Every other bid is too low, and so are bids that a concurrent one
// overtakes. The baseline is pgbench with as many clients on the same database,
// executing the statements of one bid: the row's lock and then, for the same share of
// accepted bids, the bid, its event and the commit.
func BenchmarkBids(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	s := startServer(b, serverBinary(b), publicDir(b), "DATABASE_URL="+a.pool.Config().ConnString(),
		"MASTER_KEY="+base64.StdEncoding.EncodeToString(make([]byte, secret.KeySize)), "RATE_LIMIT_CALLER=1000000/s", "RATE_LIMIT_TENANT=1000000/s", "LOG_LEVEL=warn")
	_, key, err := a.Accounts.CreateAPIKey(b.Context(), a.caller, account.APIKeyInput{Name: "bench"})
	require.NoError(b, err)
	pgbench := findPgbench(b)
	var us outcome
	var tps []float64
	for b.Loop() {
		for range bidRounds {
			path := "/v1/me/commerce/auctions/" + a.auction(b) + "/bid"
			round := traffic{
				Addr: strings.TrimPrefix(s.api, "http://"), Tokens: []string{key}, Clients: bidders, For: bidTime, Calls: []call{
					{Name: "high", Weight: 1, Method: http.MethodPost, Path: path, Body: `{"amountCents":{n},"bidderExternalId":"user-1","bidderName":"Bo"}`},
					{Name: "low", Weight: 1, Method: http.MethodPost, Path: path, Body: `{"amountCents":1,"bidderExternalId":"user-1","bidderName":"Bo"}`},
				},
			}.start(b)()
			us.add(round)
			tps = append(tps, a.pgbench(b, pgbench, round.Statuses[http.StatusCreated], round.Statuses[http.StatusBadRequest]))
		}
	}
	require.Zero(b, us.failures(), "%v", us.Statuses)
	spent := (bidRounds * bidTime).Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(us.of()))/spent, "bids/s")
	b.ReportMetric(float64(us.Statuses[http.StatusCreated])/spent, "accepted/s")
	b.ReportMetric(milliseconds(quantile(us.of(), .5)), "p50-ms")
	b.ReportMetric(milliseconds(quantile(us.of(), .99)), "p99-ms")
	b.ReportMetric(quantile(tps, .5), "pgbench-tps")
	b.ReportMetric(float64(len(us.of()))/spent/quantile(tps, .5), "ratio")
	s.stop(b)
}

// auction starts an auction of an hour and places its first bid.
func (a *services) auction(b *testing.B) (auctionID string) {
	b.Helper()
	st, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	productID := id.New(id.Product)
	_, err = a.pool.Exec(b.Context(), `INSERT INTO products
		(id, tenant_id, external_id, name, price_cents, currency, stock, low_stock_at, created_at, updated_at)
		VALUES ($1, $2, $1, 'Blue mug', 1999, 'USD', 1, 0, now(), now())`, productID, a.caller.TenantID)
	require.NoError(b, err)
	v, err := a.Auctions.CreateAuction(b.Context(), a.caller, auction.Input{
		ProductID: productID, StreamID: st.ID, StartingBidCents: 2, BidIncrementCents: 1, DurationSec: 3600,
	})
	require.NoError(b, err)
	_, err = a.Auctions.PlaceBid(b.Context(), a.caller, v.ID, auction.BidInput{AmountCents: 2, BidderExternalID: "user-1", BidderName: "Bo"})
	require.NoError(b, err)
	return v.ID
}

// findPgbench finds the program in the folder of the server's programs, where Debian
// installs it.
func findPgbench(b *testing.B) string {
	b.Helper()
	for _, dir := range []string{os.Getenv("PG_BIN"), "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "pgbench")); dir != "" && len(found) > 0 {
			return found[len(found)-1]
		}
	}
	program, err := exec.LookPath("pgbench")
	require.NoError(b, err)
	return program
}

// pgbench returns the transactions per second of single bids, with the same ratio of
// taken to refused ones.
func (a *services) pgbench(b *testing.B, program string, taken, refused int) float64 {
	b.Helper()
	auctionID := a.auction(b)
	//nolint:unqueryvet // all columns, as the server reads them
	lock := fmt.Sprintf(`BEGIN;
WITH a AS MATERIALIZED (SELECT * FROM auctions WHERE tenant_id = '%[1]s' AND id = '%[2]s' FOR UPDATE)
SELECT a.*, clock_timestamp() AS now FROM a \gset
`, a.caller.TenantID, auctionID)
	take := fmt.Sprintf(`\set amount :top_bid_cents + 1
\set number random(1, 1000000000000000000)
WITH placed AS (INSERT INTO bids (id, tenant_id, auction_id, amount_cents, bidder_external_id, bidder_name, created_at)
    SELECT unnest(ARRAY['bid_' || :number]), '%[1]s', '%[2]s', unnest(ARRAY[:amount::bigint]), unnest(ARRAY['user-1']), unnest(ARRAY['Bo']), clock_timestamp())
UPDATE auctions SET top_bid_id = 'bid_' || :number, top_bid_cents = :amount, ends_at = ends_at, updated_at = clock_timestamp()
WHERE tenant_id = '%[1]s' AND id = '%[2]s';
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence) VALUES ('evt_' || :number, '%[1]s', 'auction.bid', '%[2]s',
    '{"event":"auction.bid","tenantId":"%[1]s","occurredAt":"2026-01-31T12:00:00.000Z","data":{"auctionId":"%[2]s","productId":"%[2]s","streamId":"%[2]s","bid":{"id":"%[2]s","auctionId":"%[2]s","amountCents":2600,"bidderExternalId":"user-1","bidderName":"Bo","createdAt":"2026-01-31T12:00:00.000Z"},"newEndsAt":"2026-01-31T12:00:00.000Z"}}', now(), 1);
SELECT id, events FROM webhook_endpoints WHERE tenant_id = '%[1]s' AND deleted_at IS NULL AND status = 'active'
    AND (cardinality(events) = 0 OR events && ARRAY['auction.bid']) ORDER BY id;
COMMIT;
`, a.caller.TenantID, auctionID)
	return a.tps(b, program, bidders, bidTime, map[string]int{lock + take: taken, lock + "ROLLBACK;\n": refused})
}

// tps runs scripts as often as their weights say, and returns the transactions per second.
func (a *services) tps(b *testing.B, program string, clients int, spent time.Duration, scripts map[string]int) float64 {
	b.Helper()
	args := []string{"-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(int(spent.Seconds()))}
	dir := b.TempDir()
	for script, weight := range scripts {
		file := filepath.Join(dir, strconv.Itoa(len(args))+".sql")
		require.NoError(b, os.WriteFile(file, []byte(script), 0o600))
		args = append(args, "-f", fmt.Sprint(file, "@", weight))
	}
	out, err := exec.Command(program, append(args, a.pool.Config().ConnString())...).CombinedOutput()
	require.NoError(b, err, "%s", out)
	found := regexp.MustCompile(`(?m)^tps = ([0-9.]+)`).FindSubmatch(out)
	require.NotNil(b, found, "%s", out)
	tps, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(b, err)
	return tps
}
