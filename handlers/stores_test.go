package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// withBytes returns a server on which FREE tenants may write 8 MiB an hour.
func withBytes(t *testing.T) *apitest.Server {
	t.Helper()
	s, _ := withBudgets(t)
	return s
}

func withBudgets(t *testing.T) (*apitest.Server, *ratelimit.Limiter) {
	t.Helper()
	limiter := inMemory()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: limiter}})
	_, err := s.Pool.Exec(t.Context(), "UPDATE plans SET max_written_bytes = 8388608 WHERE tier = 'FREE'")
	require.NoError(t, err)
	return s, limiter
}

// written returns the bucket with this name. It holds kib KiB an hour; FREE tenants have 8
// MiB an hour.
func written(name, subject string, kib int) ratelimit.Bucket {
	rate := ratelimit.Rate{Events: kib, Per: time.Hour, Burst: kib}
	return ratelimit.Bucket{Policy: ratelimit.Policy{Name: name, Rate: rate}, Subject: fmt.Sprintf("%s/%d", subject, kib)}
}

// exhaust charges that many hours' bytes, and a few more, so that the bucket doesn't refill
// during a test.
func exhaust(t *testing.T, l *ratelimit.Limiter, b ratelimit.Bucket, hours int) {
	t.Helper()
	b.Cost = hours*b.Events + 100
	l.Charge(t.Context(), b)
}

// TestAPlanLimitsTheBytesThatATenantStores checks that one tenant can't fill the disk with its
// catalog. Operations that can't wait, and other tenants, are not affected.
func TestAPlanLimitsTheBytesThatATenantStores(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner, neighbour := s.Register(t), s.Register(t)
	stream := owner.Stream(t, nil)
	price := 0
	sync := func(c *apitest.Caller, products int) apitest.Response {
		price++ // an unchanged product stores nothing
		items := make([]map[string]any, products)
		for i := range items {
			items[i] = map[string]any{
				"externalId": fmt.Sprint("SKU-", i), "name": "Mug", "priceCents": price, "description": strings.Repeat("😀", 5000),
			}
		}
		return c.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items})
	}
	for range 2 {
		sync(owner, 210).Is(t, http.StatusCreated) // 4.2 MB
	}
	p := limited(t, sync(owner, 200), "tenant-written")
	require.Equal(t, &api.ProblemLimit{
		Name: "maxWrittenBytes", Value: 8 << 20, Plan: api.PlanTierFREE, UpgradeTo: new(api.PlanTierSTARTER),
	}, p.Limit)
	require.Contains(t, p.Message, "the plan FREE allows 8388608 bytes an hour in requests that store something; STARTER allows 536870912")

	owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/rotate-key", nil).Is(t, http.StatusCreated)
	sync(neighbour, 2).Is(t, http.StatusCreated)

	// A larger plan takes effect within seconds.
	owner.SetPlan(t, "STARTER")
	s.Clock.Advance(10 * time.Second)
	sync(owner, 200).Is(t, http.StatusCreated)
}

// TestOneParticipantHasAPartOfTheTenantsBytes checks that a participant has a 32nd of them,
// so 256 messages with a budget of 8 MiB.
func TestOneParticipantHasAPartOfTheTenantsBytes(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner := s.Register(t)
	session := owner.Session(t, nil)
	ada, bob := owner.Ticket(t, session.ID, "ada", nil), owner.Ticket(t, session.ID, "bob", nil)
	say := func(g *apitest.Guest) apitest.Response {
		return g.Say(t, session.ID, g.UserID, "hello")
	}
	began := time.Now()
	for range 256 {
		say(ada).Is(t, http.StatusCreated)
	}
	r := say(ada)
	for more := 1; r.Status == http.StatusCreated; more++ { // one more KiB every 14 s
		require.LessOrEqual(t, more, int(time.Since(began).Hours()*256))
		r = say(ada)
	}
	p := limited(t, r, "participant-written")
	require.Contains(t, p.Message, "too many KiB in requests of this participant that store something: 256 an hour are allowed")
	say(bob).Is(t, http.StatusCreated)
}

// TestAVeryFullDiskAcceptsOnlyMoneyAndLiveMedia checks that operations that can wait are refused.
func TestAVeryFullDiskAcceptsOnlyMoneyAndLiveMedia(t *testing.T) {
	t.Parallel()
	full := false
	s := apitest.New(t, apitest.Options{RefuseStorage: func() error {
		if full {
			return problem.New(problem.Unavailable, "disk_space_low", "this server's disk is almost full")
		}
		return nil
	}})
	owner := s.Register(t)
	stream := owner.Stream(t, nil)
	product := map[string]any{"externalId": "MUG", "name": "Mug", "priceCents": 100}
	owner.Call(t, "POST", "/v1/me/catalog/products", product).Is(t, http.StatusCreated)
	full = true
	r := owner.Call(t, "POST", "/v1/me/catalog/products", product)
	r.Problem(t, http.StatusServiceUnavailable, "disk_space_low")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	owner.Say(t, stream.ID, "ada", "hello").
		Problem(t, http.StatusServiceUnavailable, "disk_space_low")
	owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/rotate-key", nil).Is(t, http.StatusCreated)
	owner.LogInAgain(t)
}

// TestTheAudienceHasALimitOfItsOwn checks that all participants of a tenant share a budget,
// apart from the tenant's own callers.
func TestTheAudienceHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Audience: hourly(10)}})
	owner, neighbour := s.Register(t), s.Register(t)
	list := func(g *apitest.Guest, session string) apitest.Response {
		return g.Call(t, "GET", "/v1/me/sessions/"+session+"/participants", nil)
	}
	session := owner.Session(t, nil)
	for i := range 10 {
		list(owner.Ticket(t, session.ID, fmt.Sprint("guest", i), nil), session.ID).Is(t, 200)
	}
	p := limited(t, list(owner.Ticket(t, session.ID, "another", nil), session.ID), "audience")
	require.Contains(t, p.Message, "too many requests of this tenant's participants together")
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	elsewhere := neighbour.Session(t, nil)
	list(neighbour.Ticket(t, elsewhere.ID, "guest", nil), elsewhere.ID).Is(t, 200)
}

// TestShortRequestsThatStoreMuchAreCounted checks that a request is charged the bytes that
// it stores: here each writes 50 KB into the audit log.
func TestShortRequestsThatStoreMuchAreCounted(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner := s.Register(t)
	metadata := map[string]string{}
	for i := range 50 {
		metadata[fmt.Sprint("key", i)] = strings.Repeat("x", 500)
	}
	stream := owner.Stream(t, map[string]any{"metadata": metadata})
	for n := range 300 { // 8 MiB are enough for 170 of them
		r := owner.Call(t, "PATCH", "/v1/me/streams/"+stream.ID, map[string]any{"name": fmt.Sprint("Launch ", n)})
		if r.Status == http.StatusTooManyRequests {
			limited(t, r, "tenant-written")
			require.Greater(t, n, 100)
			return
		}
		r.Is(t, 200)
	}
	t.Fatal("300 requests stored 15 MB")
}

// TestGuestsTakeNoModerationAway checks that requests that are refused aren't charged, and
// that the host can moderate when the bytes of all participants are used up.
func TestGuestsTakeNoModerationAway(t *testing.T) {
	t.Parallel()
	s, limiter := withBudgets(t)
	owner := s.Register(t)
	session := owner.Session(t, nil)
	host := owner.Join(t, session.ID, session.HostID, nil)
	muteAll := func(g *apitest.Guest, junk int) apitest.Response {
		return g.Call(t, "POST", "/v1/me/sessions/"+session.ID+"/moderate/mute-all", map[string]any{"junk": strings.Repeat("x", junk)})
	}
	var guests []*apitest.Guest
	for i := range 16 {
		guests = append(guests, owner.Join(t, session.ID, fmt.Sprint("guest", i), map[string]any{"role": "viewer"}))
		muteAll(guests[i], 255<<10).Problem(t, http.StatusForbidden, "forbidden")
	}
	muteAll(host, 0).Is(t, http.StatusCreated)
	for range 100 { // these requests change nothing
		guests[0].Call(t, "POST", "/v1/me/sessions/"+session.ID+"/moderate/hand-lower", map[string]any{
			"userId": guests[0].UserID, "junk": strings.Repeat("x", 10<<10),
		}).Is(t, http.StatusCreated)
	}
	require.Greater(t, limiter.PeekAll(t.Context(), written("audience-written", owner.TenantID, 4096))[0].Remaining, 4000)

	exhaust(t, limiter, written("audience-written", owner.TenantID, 4096), 1)
	limited(t, guests[0].Say(t, session.ID, guests[0].UserID, "hello"), "audience-written")
	muteAll(host, 0).Is(t, http.StatusCreated)
	host.Call(t, "PATCH", "/v1/me/sessions/"+session.ID, map[string]any{"locked": true}).Is(t, http.StatusOK)
	ban := map[string]any{"target": "guest0", "by": host.UserID}
	host.Call(t, "POST", "/v1/me/channels/"+session.ID+"/moderate/ban", ban).Is(t, http.StatusCreated)
	owner.Say(t, session.ID, "ada", "the tenant has bytes of its own").Is(t, http.StatusCreated)

	// That overdraft is limited, too.
	exhaust(t, limiter, written("audience-written", owner.TenantID, 4096), 11)
	limited(t, muteAll(host, 0), "audience-written")
}

// TestTwoHostsLeaveBytesToTheAudience checks that a participant's overdraft is smaller than the
// audience's: two hosts can't use up the bytes of all participants, half of the plan's 8 MiB.
func TestTwoHostsLeaveBytesToTheAudience(t *testing.T) {
	t.Parallel()
	s, limiter := withBudgets(t)
	owner := s.Register(t)
	metadata := map[string]string{}
	for i := range 50 { // the event of each change has them
		metadata[fmt.Sprint("key", i)] = strings.Repeat("x", 500)
	}
	fields := map[string]any{"metadata": metadata}
	one, two := owner.Session(t, fields), owner.Session(t, fields)
	for _, session := range []api.Session{one, two} {
		host := owner.Join(t, session.ID, session.HostID, nil)
		r := apitest.Response{Status: http.StatusOK}
		for n := 0; r.Status == http.StatusOK && n < 200; n++ {
			r = host.Call(t, "PATCH", "/v1/me/sessions/"+session.ID, map[string]any{"name": fmt.Sprint("Launch ", n)})
		}
		p := limited(t, r, "participant-written")
		require.Contains(t, p.Message, "256 an hour are allowed, and up to 512 at once")
	}
	left := limiter.PeekAll(t.Context(), written("audience-written", owner.TenantID, 4096))[0].Remaining
	require.Greater(t, left, 2048)
	guest := owner.Join(t, one.ID, "guest", map[string]any{"role": "viewer"})
	guest.Say(t, one.ID, guest.UserID, "hello").Is(t, http.StatusCreated)
}

// TestOnlyCommittedBytesAreCharged checks that a transaction that runs again after a conflict is
// charged once, and that a request isn't charged for a transaction that the server rolled back.
func TestOnlyCommittedBytesAreCharged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	still := ratelimit.NewMemory(func() time.Time { return now }) // so that the bucket doesn't refill
	limiter := ratelimit.New(still, nil, slog.New(slog.DiscardHandler))
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), Limits: pipeline.Limits{Limiter: limiter}})
	owner := s.Register(t)
	b := written("tenant-written", owner.TenantID, 128<<10)
	cost := func(sku string, status int) int {
		before := limiter.PeekAll(t.Context(), b)[0].Remaining
		owner.Call(t, "POST", "/v1/me/catalog/products", map[string]any{
			"externalId": sku, "name": "Mug", "priceCents": 100, "metadata": map[string]any{"text": strings.Repeat("x", 60_000)},
		}).Is(t, status)
		return before - limiter.PeekAll(t.Context(), b)[0].Remaining
	}
	usual := cost("MUG-1", http.StatusCreated)
	require.Greater(t, usual, 50)

	_, err := s.Pool.Exec(t.Context(), `CREATE SEQUENCE tries;
		CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER fail BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	require.InDelta(t, usual, cost("MUG-2", http.StatusCreated), 1)
	var tries int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT last_value FROM tries").Scan(&tries))
	require.Equal(t, 3, tries)

	_, err = s.Pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'a bug'; END $$`)
	require.NoError(t, err)
	require.LessOrEqual(t, cost("MUG-3", http.StatusInternalServerError), 1)
}

// TestEndingOperationsWorkWithoutBytes checks that operations that end something work when the
// tenant's bytes are used up, and are charged.
func TestEndingOperationsWorkWithoutBytes(t *testing.T) {
	t.Parallel()
	s, limiter := withBudgets(t)
	owner := s.Register(t)
	session, stream, hook := owner.Session(t, nil), owner.Stream(t, nil), owner.Webhook(t, "https://hooks.example.test/")
	product := owner.Product(t, map[string]any{"externalId": "MUG"})
	guest := owner.Join(t, session.ID, "guest", nil)
	owner.Call(t, "POST", "/v1/me/sessions/"+session.ID+"/breakouts", map[string]any{"count": 1}).Is(t, http.StatusCreated)
	b := written("tenant-written", owner.TenantID, 8192)
	exhaust(t, limiter, b, 1)
	limited(t, owner.Say(t, session.ID, "ada", "hello"), "tenant-written")
	paidAt := func() time.Time { return time.Now().Add(limiter.PeekAll(t.Context(), b)[0].Full) }
	for what, call := range map[string]func() apitest.Response{
		"session token": func() apitest.Response { return owner.SessionToken(t, session.ID, "another", nil) },
		"archive":       func() apitest.Response { return owner.Call(t, "DELETE", "/v1/me/catalog/products/"+product.ID, nil) },
		"rotate key":    func() apitest.Response { return owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/rotate-key", nil) },
		"rotate secret": func() apitest.Response {
			return owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/rotate-secret", nil)
		},
		"disable": func() apitest.Response {
			return owner.Call(t, "PATCH", "/v1/me/webhooks/"+hook.ID, map[string]any{"status": "disabled"})
		},
		"tenant": func() apitest.Response {
			return owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Other"})
		},
		"close breakout": func() apitest.Response {
			return owner.Call(t, "POST", "/v1/me/sessions/"+session.ID+"/breakouts/close", nil)
		},
		"kick": func() apitest.Response {
			return owner.Call(t, "DELETE", "/v1/me/sessions/"+session.ID+"/participants/"+guest.UserID, nil)
		},
	} {
		before := paidAt()
		require.Less(t, call().Status, 300, what)
		require.Greater(t, paidAt().Sub(before), time.Hour/8192/2, what) // a KiB takes an 8192nd of an hour
	}
}

// TestAPlanBoundsAmplifiedWrites checks that bytes beyond the budget become a debt, and that
// operations that can wait are refused until it is paid.
func TestAPlanBoundsAmplifiedWrites(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner := s.Register(t)
	sync := func(cents int, metadata map[string]any) apitest.Response {
		items := make([]map[string]any, 40)
		for i := range items {
			items[i] = map[string]any{"externalId": fmt.Sprint("SKU-", i), "name": "Mug", "priceCents": cents}
			if metadata != nil {
				items[i]["metadata"] = metadata
			}
		}
		return owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items})
	}
	sync(1, map[string]any{"text": strings.Repeat("x", 60_000)}).Is(t, http.StatusCreated)
	r := apitest.Response{}
	for cents := range 10 {
		if r = sync(cents+2, nil); r.Status != http.StatusCreated {
			break
		}
	}
	limited(t, r, "tenant-written")
	var emitted int64
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT sum(octet_length(payload::text)) FROM events WHERE tenant_id = $1", owner.TenantID).Scan(&emitted))
	require.Greater(t, emitted, int64(8<<20))
	require.Less(t, emitted, int64(11<<20), "one request more than the plan has")
	again, err := strconv.Atoi(r.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, float64(emitted-8<<20)/(8<<20)*3600, float64(again), 120, "the debt is paid by then")
}

// TestDeliveriesCount checks that each endpoint that receives an event adds to the charge.
func TestDeliveriesCount(t *testing.T) {
	t.Parallel()
	s, limiter := withBudgets(t)
	owner := s.Register(t)
	session := owner.Session(t, nil)
	b := written("tenant-written", owner.TenantID, 8192)
	cost := func() int {
		before := limiter.PeekAll(t.Context(), b)[0].Remaining
		owner.Say(t, session.ID, "ada", "hello").Is(t, http.StatusCreated)
		return before - limiter.PeekAll(t.Context(), b)[0].Remaining
	}
	require.LessOrEqual(t, cost(), 2)
	for range 5 {
		owner.Webhook(t, "https://hooks.example.test/")
	}
	// The budget is refilled meanwhile, so a slow call seems to cost less.
	apitest.Until(t, "a charge for each delivery", func() bool { return cost() >= 3 })
}
