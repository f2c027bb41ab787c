package realtime_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/realtimetest"
)

func TestAPublicationReachesAllSubscribersOfTheRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	ada, key := r.watch(t, "ada", "ses_1"), r.watch(t, "key", "ses_1")
	elsewhere := r.watch(t, "cy", "ses_2")
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.StockTick, Data: map[string]any{"remaining": 3}})
	for _, c := range []*realtimetest.Client{ada, key} {
		p := c.Next(t, realtimetest.Published)
		require.Equal(t, realtime.StockTick, p.Type)
		require.Equal(t, map[string]any{"remaining": 3.0}, p.Data)
	}
	r.Publish(t.Context(), realtime.Publication{Room: "ses_2", Type: realtime.AuctionBid, Data: map[string]any{}})
	require.Equal(t, realtime.AuctionBid, elsewhere.Next(t, realtimetest.Published).Type)
	until(t, func() bool { return r.Stats().Messages == 3 }, "3 messages are counted")
	require.Equal(t, uint64(2), r.Stats().Publications)
}

func TestAHoldersConnectionsAreCheckedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{CheckEvery: 1 << 60}) // never by itself
	r.gate.who["other"] = realtime.Identity{TenantID: "ten_1", Holder: "key_1", Rooms: true}
	one, two, other, ada := r.watch(t, "key", "ses_1"), r.watch(t, "key", "ses_2"), r.watch(t, "other", "ses_1"), r.watch(t, "ada", "ses_1")
	r.gate.refuse("key", problem.New(problem.Unauthenticated, "token_revoked", "this token was ended"))
	r.HolderChanged("ten_2", "key_1")
	r.HolderChanged("ten_1", "key_2")
	r.HolderChanged("ten_1", "key_1")
	require.Equal(t, uint32(3500), one.Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, uint32(3500), two.Next(t, realtimetest.Disconnected).Code)
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.StockTick, Data: map[string]any{"remaining": 3}})
	other.NextType(t, realtime.StockTick)
	ada.NextType(t, realtime.StockTick)
}

func TestTheBinaryEncoding(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "ada", Protobuf: true})
	c.Hear(t, "ses_1")
	c.Next(t, realtimetest.Subscribed)
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.StockTick, Data: map[string]any{"remaining": 3}})
	require.Equal(t, map[string]any{"remaining": 3.0}, c.Next(t, realtimetest.Published).Data)
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	for token, err := range map[string]error{
		"old":       problem.New(problem.Unauthenticated, "token_expired", "the token has expired"),
		"old key":   problem.New(problem.Unauthenticated, "key_expired", "this API key has expired"),
		"revoked":   problem.New(problem.Unauthenticated, "key_revoked", "this API key was revoked"),
		"narrow":    problem.New(problem.Forbidden, "forbidden", "this needs the scope chat:read"),
		"suspended": problem.New(problem.Forbidden, "tenant_suspended", "this tenant is suspended"),
	} {
		r.gate.refuse(token, err)
	}
	r.gate.set("ses_1/ada", realtime.Participant{State: realtime.Kicked})
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Banned})
	r.gate.set("ses_2/cy", realtime.Participant{})
	for token, code := range map[string]uint32{
		"made up": 3500, "": 3500, "revoked": 3500, "narrow": 3507, "suspended": 4502, "ada": 4500, "bo": 4501, "cy": 3500,
	} {
		c := realtimetest.New(t, r.url, realtimetest.Options{Token: token})
		require.Equal(t, code, c.Next(t, realtimetest.Disconnected).Code, token)
	}
	for _, token := range []string{"old", "old key"} {
		c := realtimetest.New(t, r.url, realtimetest.Options{Token: token})
		require.Equal(t, uint32(109), c.Next(t, realtimetest.Failed).Code, "a client that can fetches another token")
	}
}

func TestAnExpiredTokenIsReplaced(t *testing.T) {
	t.Parallel()
	var clock clock
	clock.set(time.Now())
	r := newRig(t, realtime.Config{CheckEvery: 20 * time.Millisecond, Now: clock.now})
	r.gate.who["ada"] = realtime.Identity{TenantID: "ten_1", Room: "ses_1", UserID: "ada", ExpiresAt: clock.now().Add(time.Hour)}
	r.gate.who["ada again"] = realtime.Identity{TenantID: "ten_1", Room: "ses_1", UserID: "ada", ExpiresAt: clock.now().Add(2 * time.Hour)}
	tokens := make(chan string, 2)
	tokens <- "ada"
	tokens <- "ada again"
	c := realtimetest.New(t, r.url, realtimetest.Options{GetToken: func() (string, error) { return <-tokens, nil }})
	c.Hear(t, "ses_1")
	c.Next(t, realtimetest.Subscribed)
	r.gate.refuse("ada", problem.New(problem.Unauthenticated, "token_expired", "the token has expired"))
	clock.set(clock.now().Add(time.Hour))
	require.True(t, c.Next(t, realtimetest.Subscribed).Recovered)
	require.Empty(t, only(c.Events(), realtimetest.Disconnected))
}

func TestAnUnavailableGateAsksClientsToRetry(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	r.gate.setAway(true)
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "ada"})
	c.Hear(t, "ses_1")
	require.Equal(t, uint32(100), c.Next(t, realtimetest.Failed).Code)
	r.gate.setAway(false)
	c.Next(t, realtimetest.Subscribed)
}

func TestACredentialIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]struct {
		end  func(g *gate)
		code uint32
	}{
		"revoked": {func(g *gate) {
			g.refuse("key", problem.New(problem.Unauthenticated, "key_revoked", "this API key was revoked"))
		}, 3500},
		"logged out": {func(g *gate) {
			g.refuse("key", problem.New(problem.Unauthenticated, "token_revoked", "this token was ended"))
		}, 3500},
		"suspended": {func(g *gate) {
			g.refuse("key", problem.New(problem.Forbidden, "tenant_suspended", "this tenant is suspended"))
		}, 4502},
		"without the scope": {func(g *gate) { g.refuse("key", problem.New(problem.Forbidden, "forbidden", "no")) }, 3507},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, realtime.Config{CheckEvery: 20 * time.Millisecond})
			c := r.watch(t, "key", "str_1")
			r.gate.setAway(true)
			r.Missed(t.Context())
			r.gate.setAway(false)
			ends.end(r.gate)
			require.Equal(t, ends.code, c.Next(t, realtimetest.Disconnected).Code)
		})
	}
}

func TestAParticipantIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]struct {
		participant realtime.Participant
		code        uint32
	}{
		"kicked":    {realtime.Participant{State: realtime.Kicked}, 4500},
		"banned":    {realtime.Participant{State: realtime.Banned}, 4501},
		"suspended": {realtime.Participant{State: realtime.Suspended}, 4502},
		"gone":      {realtime.Participant{}, 3500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, realtime.Config{CheckEvery: 20 * time.Millisecond})
			c := r.watch(t, "bo", "ses_1")
			r.gate.set("ses_1/bo", ends.participant)
			require.Equal(t, ends.code, c.Next(t, realtimetest.Disconnected).Code)
		})
	}
}

func TestATokenThatExpiresWhileConnected(t *testing.T) {
	t.Parallel()
	var clock clock
	clock.set(time.Now())
	r := newRig(t, realtime.Config{CheckEvery: 20 * time.Millisecond, Now: clock.now})
	r.gate.who["ada"] = realtime.Identity{TenantID: "ten_1", Room: "ses_1", UserID: "ada", ExpiresAt: clock.now().Add(time.Hour)}
	c := r.watch(t, "ada", "ses_1")
	c.Next(t, realtimetest.Connecting)
	r.gate.refuse("ada", problem.New(problem.Unauthenticated, "token_expired", "the token has expired"))
	clock.set(clock.now().Add(time.Hour))
	require.Equal(t, uint32(3005), c.Next(t, realtimetest.Connecting).Code, "it comes again")
	require.Equal(t, uint32(109), c.Next(t, realtimetest.Failed).Code)
}

func TestTheEleventhConnectionOfAUserEndsTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	first := r.watch(t, "ada", "ses_1")
	for range 9 {
		r.watch(t, "ada", "ses_1")
	}
	other := r.watch(t, "bo", "ses_1")
	last := r.watch(t, "ada", "ses_1")
	require.Equal(t, uint32(4503), first.Next(t, realtimetest.Disconnected).Code)
	until(t, func() bool { return r.Stats().Connections == 11 }, "11 are left")
	require.Empty(t, only(last.Events(), realtimetest.Disconnected))
	require.Empty(t, only(other.Events(), realtimetest.Disconnected))
}

func TestAStopAsksClientsToReconnect(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c := r.watch(t, "ada", "ses_1")
	c.Next(t, realtimetest.Connecting)
	var received atomic.Int64
	realtimetest.Count(t, r.url, "bo", "ses_1", realtime.StockTick, func(n int) { received.Add(int64(n)) })
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.StockTick, Data: map[string]any{}})
	require.NoError(t, r.Stop(t.Context()))
	require.Equal(t, uint32(3001), c.Next(t, realtimetest.Connecting).Code)
	// The client library may drop what it has received when the connection closes, so the bytes are searched.
	until(t, func() bool { return received.Load() == 1 }, "earlier publications are delivered")
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.StockTick, Data: map[string]any{}})
}

func TestInvalidHandshakesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	for _, h := range []http.Header{
		{"Sec-Websocket-Version": {"13"}},
		{"Sec-Websocket-Version": {"12"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}},
		{"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"short"}},
	} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+realtimetest.Path, nil)
		require.NoError(t, err)
		h.Set("Connection", "keep-alive, Upgrade")
		h.Set("Upgrade", "websocket")
		q.Header = h
		require.True(t, realtime.IsUpgrade(q))
		answer, err := http.DefaultTransport.RoundTrip(q)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, "invalid_input", answer.Header.Get("X-Problem"))
	}
}

// only keeps the events of a kind.
func only(events []realtimetest.Event, kind string) []realtimetest.Event {
	var list []realtimetest.Event
	for _, e := range events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}
