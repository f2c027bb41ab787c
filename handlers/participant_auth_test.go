package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"showfloor/handlers/pipeline"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// TestForgedParticipantTokensAreRefused calls an operation that accepts a
// tenant's token as well.
func TestForgedParticipantTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	room := owner.Session(t, nil)
	kid, key := signer(t, s)
	sign := func(change map[string]any) string {
		now := s.Clock.Now()
		claims := jwt.MapClaims{
			"sub": "ada", "tid": owner.TenantID, "room": room.ID, "typ": "participant", "jti": "jti_1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		}
		for k, v := range change {
			if claims[k] = v; v == nil {
				delete(claims, k)
			}
		}
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	get := func(token string) apitest.Response {
		return s.With(t, token).Call(t, "GET", "/v1/me/sessions/"+room.ID+"/participants", nil)
	}
	get(sign(nil)).Is(t, 200)
	for name, change := range map[string]map[string]any{
		"another tenant's": {"tid": s.Register(t).TenantID}, "no tenant": {"tid": nil}, "no room": {"room": nil}, "no user": {"sub": nil},
		"a user who is not in the room": {"sub": "eve"}, "another type": {"typ": "tenant"}, "no type": {"typ": nil}, "an admin's": {"typ": "admin"},
		"no end": {"exp": nil}, "another room": {"room": "sess_none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			get(sign(change)).Problem(t, 401, "unauthenticated")
		})
	}
	good := sign(nil)
	get(good[:len(good)-4]).Problem(t, 401, "unauthenticated")
	get(sign(map[string]any{"exp": s.Clock.Now().Add(-time.Second).Unix()})).Problem(t, 401, "token_expired")
	// The token is valid in its own room and not in another room of the tenant.
	elsewhere := owner.Ticket(t, owner.Session(t, nil).ID, "ada", nil)
	get(elsewhere.Token).Problem(t, 404, "not_found")

	guest := owner.Ticket(t, room.ID, "dan", nil)
	owner.Call(t, "DELETE", "/v1/me/sessions/"+room.ID+"/participants/dan", nil).Is(t, 200)
	require.Equal(t, "this participant token was revoked", get(guest.Token).Problem(t, 401, "unauthenticated").Message)
	owner.SetTenantStatus(t, tenancy.Suspended)
	get(good).Problem(t, 403, "tenant_suspended")
}

// TestAParticipantHasALimitInEachRoom checks that all tokens of a participant
// share its limit, and that other participants have their own.
func TestAParticipantHasALimitInEachRoom(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Caller: hourly(20)}})
	owner := s.Register(t)
	room, other := owner.Session(t, nil), owner.Session(t, nil)
	first, second := owner.Ticket(t, room.ID, "ada", nil), owner.Ticket(t, room.ID, "ada", nil)
	elsewhere, ben := owner.Ticket(t, other.ID, "ada", nil), owner.Ticket(t, room.ID, "ben", nil)
	get := func(g *apitest.Guest) apitest.Response { return g.Call(t, "GET", "/v1/me/sessions/"+g.RoomID, nil) }
	for range 10 {
		get(first).Is(t, 200)
		get(second).Is(t, 200)
	}
	limited(t, get(first), "caller")
	limited(t, get(second), "caller")
	get(elsewhere).Is(t, 200)
	get(ben).Is(t, 200)
	owner.Call(t, "GET", "/v1/me/sessions", nil).Is(t, 200)
}

// TestMadeUpParticipantTokensAreGuesses checks that made-up tokens count against
// their network, and that an expired one counts against itself alone.
func TestMadeUpParticipantTokensAreGuesses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Guesses: hourly(3)}})
	owner := s.Register(t)
	room := owner.Session(t, nil)
	path := "/v1/me/sessions/" + room.ID
	ada, dan := owner.Ticket(t, room.ID, "ada", nil), owner.Ticket(t, room.ID, "dan", nil)
	owner.Call(t, "DELETE", path+"/participants/dan", nil).Is(t, 200)
	for range 3 {
		dan.Call(t, "GET", path, nil).Problem(t, 401, "unauthenticated")
	}
	limited(t, dan.Call(t, "GET", path, nil), "guesses")
	ada.Call(t, "GET", path, nil).Is(t, 200)

	forged := ada.Token[:strings.LastIndexByte(ada.Token, '.')+1] + strings.Repeat("A", 86)
	for range 3 {
		s.With(t, forged).Call(t, "GET", path, nil).Problem(t, 401, "unauthenticated")
	}
	limited(t, s.With(t, forged).Call(t, "GET", path, nil), "guesses")
	ada.Call(t, "GET", path, nil).Is(t, 200)
}

// TestAParticipantsIdempotencyKeysAreItsOwn checks that a participant can neither
// read the stored answers of others nor block their keys.
func TestAParticipantsIdempotencyKeysAreItsOwn(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	raise := func(c *apitest.Caller, userID string) apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.s.URL+m.path+"/moderate/hand-raise",
			strings.NewReader(`{"userId":"`+userID+`"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "one")
		return c.Do(t, r)
	}
	require.Empty(t, raise(m.dan.Caller, "dan").Is(t, 201).Header.Get("Idempotent-Replayed"))
	require.Empty(t, raise(m.cleo.Caller, "cleo").Is(t, 201).Header.Get("Idempotent-Replayed"))
	require.Empty(t, raise(m.owner, "ben").Is(t, 201).Header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", raise(m.dan.Caller, "dan").Is(t, 201).Header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", raise(m.owner, "ben").Is(t, 201).Header.Get("Idempotent-Replayed"))
	raise(m.dan.Caller, "ben").Problem(t, 422, "idempotency_mismatch")
}
