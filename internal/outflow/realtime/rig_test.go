package realtime_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/realtimetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The library never ends the goroutine that gathers the metrics of a node.
		goleak.IgnoreTopFunction("github.com/FZambia/eagle.(*Eagle).aggregate"),
		// It sleeps for a second before it leaves a room without subscribers.
		goleak.IgnoreAnyFunction("github.com/centrifugal/centrifuge/internal/dissolve.(*Dissolver).runWorker"),
		// The client's commands wait until their timeout, also after it was closed.
		goleak.IgnoreAnyFunction("github.com/centrifugal/centrifuge-go.(*Client).sendAsync.func1"),
		goleak.IgnoreTopFunction("github.com/centrifugal/centrifuge-go.(*Client).PresenceStats.func1"),
	)
}

// gate is a Gate with rules set by the test. The real rules are tested in their
// areas.
type gate struct {
	mu           sync.Mutex
	who          map[string]realtime.Identity
	refused      map[string]error
	participants map[string]realtime.Participant // by room/user
	rooms        map[string]bool                 // of the tenant's
	pins         []string
	away         bool
}

func newGate() *gate {
	return &gate{
		who: map[string]realtime.Identity{
			"ada": {TenantID: "ten_1", Room: "ses_1", UserID: "ada"},
			"bo":  {TenantID: "ten_1", Room: "ses_1", UserID: "bo"},
			"cy":  {TenantID: "ten_1", Room: "ses_2", UserID: "cy"},
			"key": {TenantID: "ten_1", Holder: "key_1", Rooms: true, Events: true},
		},
		refused: map[string]error{},
		participants: map[string]realtime.Participant{
			"ses_1/ada": {State: realtime.Inside, DisplayName: "Ada", Role: "host"},
			"ses_1/bo":  {State: realtime.Inside, DisplayName: "Bo", Role: "guest"},
			"ses_2/cy":  {State: realtime.Inside, DisplayName: "Cy", Role: "host"},
		},
		rooms: map[string]bool{"ses_1": true, "ses_2": true, "str_1": true},
	}
}

var errAway = errors.New("the database is away")

func (g *gate) Authenticate(_ context.Context, token, _ string) (realtime.Identity, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return realtime.Identity{}, errAway
	}
	if err := g.refused[token]; err != nil {
		return realtime.Identity{}, err
	}
	who, ok := g.who[token]
	if !ok {
		return who, problem.New(problem.Unauthenticated, "unauthenticated", "the bearer token is not valid")
	}
	return who, nil
}

func (g *gate) Admit(_ context.Context, _ realtime.Identity, room string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.away:
		return errAway
	case !g.rooms[room]:
		return problem.Missing("channel")
	}
	return nil
}

func (g *gate) Participants(_ context.Context, _, room string, users []string) (map[string]realtime.Participant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away {
		return nil, errAway
	}
	found := map[string]realtime.Participant{}
	for _, user := range users {
		if st, ok := g.participants[room+"/"+user]; ok {
			found[user] = st
		}
	}
	return found, nil
}

func (g *gate) Pin(_ context.Context, who realtime.Identity, productID string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.participants[who.Room+"/"+who.UserID].Role != "host" {
		return problem.New(problem.Forbidden, "forbidden", "only the host of this room may pin a product")
	}
	g.pins = append(g.pins, productID)
	return nil
}

// set changes a participant's state.
func (g *gate) set(key string, st realtime.Participant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.participants = maps.Clone(g.participants)
	g.participants[key] = st
}

// refuse makes a token invalid.
func (g *gate) refuse(token string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused[token] = err
}

func (g *gate) setAway(away bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away = away
}

// rig is a listening server.
type rig struct {
	*realtime.Server

	gate *gate
	url  string
}

type visitor struct{}

func (visitor) Network() string                        { return "192.0.2.0/24" }
func (visitor) MayGuess(context.Context, string) error { return nil }
func (visitor) Guessed(context.Context, string)        {}
func (visitor) PageToken() string                      { return "" }
func (visitor) MayImpersonate(context.Context) error   { return nil }

// newRig makes a server for a test that runs beside others with the same rooms.
func newRig(t testing.TB, c realtime.Config) *rig {
	t.Helper()
	c.SeparateReads = true
	return newSoleRig(t, c)
}

// newSoleRig makes a server as in production, for a test whose rooms no other test has.
func newSoleRig(t testing.TB, c realtime.Config) *rig {
	t.Helper()
	r := &rig{Server: realtime.New(c), gate: newGate()}
	require.NoError(t, r.Start(r.gate))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := r.Serve(w, q, visitor{}); err != nil {
			p, _ := problem.As(err)
			w.Header().Set("X-Problem", p.Code)
			http.Error(w, p.Message, http.StatusServiceUnavailable)
		}
	}))
	r.url = server.URL
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, r.Stop(context.Background()))
	})
	return r
}

// watch is a client that subscribes to a room.
func (r *rig) watch(t testing.TB, token, room string) *realtimetest.Client {
	t.Helper()
	c, _ := realtimetest.Watch(t, r.url, token, room)
	return c
}

// until waits until a condition holds.
func until(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond, what)
}

// clock is a clock that the test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}
