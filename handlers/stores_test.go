package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers"
	"showfloor/internal/apitest"
	"showfloor/internal/problem"
)

// withBytes is a server on which FREE tenants may write 8 MiB an hour.
func withBytes(t *testing.T) *apitest.Server {
	t.Helper()
	s := apitest.New(t, apitest.Options{Limits: handlers.Limits{Limiter: inMemory()}})
	_, err := s.Pool.Exec(t.Context(), "UPDATE plans SET max_written_bytes = 8388608 WHERE tier = 'FREE'")
	require.NoError(t, err)
	return s
}

// TestAPlanBoundsWhatATenantStores: one tenant can't fill the disk with its catalog. What
// can't wait goes on, and so do others.
func TestAPlanBoundsWhatATenantStores(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner, neighbour := s.Register(t), s.Register(t)
	stream := owner.Stream(t, nil)
	sync := func(c *apitest.Caller, products int) apitest.Response {
		items := make([]map[string]any, products)
		for i := range items {
			items[i] = map[string]any{
				"externalId": fmt.Sprint("SKU-", i), "name": "Mug", "priceCents": 1, "description": strings.Repeat("😀", 5000),
			}
		}
		return c.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items})
	}
	for range 2 {
		sync(owner, 200).Is(t, http.StatusCreated) // 4 MB
	}
	p := limited(t, sync(owner, 200), "tenant-written")
	require.Equal(t, &api.ProblemLimit{
		Name: "maxWrittenBytes", Value: 8 << 20, Plan: api.PlanTierFREE, UpgradeTo: new(api.PlanTierSTARTER),
	}, p.Limit)
	require.Contains(t, p.Message, "the plan FREE allows 8388608 bytes an hour in requests that store something; STARTER allows 536870912")

	owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/rotate-key", nil).Is(t, http.StatusCreated)
	sync(neighbour, 2).Is(t, http.StatusCreated)

	// A larger plan holds within seconds.
	owner.SetPlan(t, "STARTER")
	s.Clock.Advance(10 * time.Second)
	sync(owner, 200).Is(t, http.StatusCreated)
}

// TestOneParticipantHasAPartOfTheTenantsBytes: a 32nd part, so 256 messages of 8 MiB.
func TestOneParticipantHasAPartOfTheTenantsBytes(t *testing.T) {
	t.Parallel()
	s := withBytes(t)
	owner := s.Register(t)
	session := owner.Session(t, nil)
	ada, bob := owner.Ticket(t, session.ID, "ada", nil), owner.Ticket(t, session.ID, "bob", nil)
	say := func(g *apitest.Guest) apitest.Response {
		return g.Say(t, session.ID, g.UserID, "hello")
	}
	for range 256 {
		say(ada).Is(t, http.StatusCreated)
	}
	p := limited(t, say(ada), "participant-written")
	require.Contains(t, p.Message, "too many KiB in requests of this participant that store something: 256 an hour are allowed")
	say(bob).Is(t, http.StatusCreated)
}

// TestAVeryFullDiskTakesMoneyAndWhatIsLiveOnly: what can wait is refused.
func TestAVeryFullDiskTakesMoneyAndWhatIsLiveOnly(t *testing.T) {
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

// TestTheAudienceHasALimitOfItsOwn: all participants of a tenant together, apart from
// the tenant's own callers.
func TestTheAudienceHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: handlers.Limits{Limiter: inMemory(), Audience: hourly(10)}})
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

// TestShortRequestsThatStoreMuchAreCounted by what they store: here each writes 50 KB
// into the audit log.
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
