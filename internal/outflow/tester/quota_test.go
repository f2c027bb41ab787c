package tester_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/tester"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const mib = 1 << 20

// sized is a request with a body of n bytes. The token serves as tenant id for the
// limit of unwritten requests.
func sized(u api.CaptureURL, n int) tester.Request {
	return tester.Request{Token: u.Token, TenantID: u.Token, Method: "POST", URL: &url.URL{Path: "/"}, Header: http.Header{}, Body: bytes.Repeat([]byte{1}, n)}
}

func captureURLs(t *testing.T, owner *apitest.Caller, n int) (urls []api.CaptureURL) {
	t.Helper()
	for range n {
		urls = append(urls, owner.CaptureURL(t))
	}
	return urls
}

// holdings are the sizes of a tenant's captures: as counted, and as they really
// are.
type holdings struct {
	Counted, Actual, Bodies int64
	Rows                    int
}

func holdingsOf(t *testing.T, s *apitest.Server, tenantID string) (h holdings) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		SELECT x.bytes, coalesce(sum(c.bytes), 0), coalesce(sum(octet_length(c.body)), 0), count(c.id)
		FROM capture_usage x LEFT JOIN captures c ON c.tenant_id = x.tenant_id WHERE x.tenant_id = $1 GROUP BY x.bytes`, tenantID).
		Scan(&h.Counted, &h.Actual, &h.Bodies, &h.Rows))
	require.Equal(t, h.Actual, h.Counted, "the counted bytes are the stored bytes")
	return h
}

// TestATenantsCapturesAreBounded: a tenant on FREE keeps its newest 64 MiB across
// all its URLs, and captures at most as much per minute.
func TestATenantsCapturesAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, neighbour := s.Register(t), s.Register(t)
	urls := captureURLs(t, owner, 20)
	theirs := neighbour.CaptureURL(t)
	var newest string
	for minute := range 3 {
		accepted := 0
		for i := range 70 {
			captureID, err := s.Tester.Capture(t.Context(), sized(urls[i%len(urls)], mib))
			if err == nil {
				newest, accepted = captureID, accepted+1
				continue
			}
			refusal, ok := problem.As(err)
			require.True(t, ok, err)
			require.Equal(t, "rate_limited", refusal.Code)
			require.Positive(t, refusal.RetryAfter)
			require.LessOrEqual(t, refusal.RetryAfter, time.Minute)
		}
		require.Equal(t, 63, accepted, "64 MiB with their headers, in minute %d", minute)
		require.LessOrEqual(t, holdingsOf(t, s, owner.TenantID).Actual, int64(64*mib))
		s.Send(t, theirs, "POST", "", []byte("x"))
		s.Clock.Advance(time.Minute)
	}
	_, err := s.Tester.Capture(t.Context(), sized(urls[0], mib))
	require.NoError(t, err)
	h := holdingsOf(t, s, owner.TenantID)
	require.Greater(t, h.Bodies, int64(60*mib))
	require.Equal(t, 3, holdingsOf(t, s, neighbour.TenantID).Rows)
	var oldest string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT min(id) FROM captures WHERE tenant_id = $1", owner.TenantID).Scan(&oldest))
	require.Greater(t, newest, oldest)

	owner.Call(t, "DELETE", "/v1/me/webhook-tester/"+urls[0].Token+"/delete", nil).Is(t, 200)
	require.Less(t, holdingsOf(t, s, owner.TenantID).Rows, h.Rows)
}

// TestTheCountedBytesAreTheStoredBytes: after concurrent requests to all URLs while URLs
// are deleted.
func TestTheCountedBytesAreTheStoredBytes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	other := apitest.New(t, apitest.Options{Pool: s.Pool}) // a second server on the database
	owner, neighbour := s.Register(t), s.Register(t)
	owner.SetPlan(t, "PRO") // 500 requests of up to 400 KB are more than FREE takes in a minute
	urls := append(captureURLs(t, owner, 18), captureURLs(t, neighbour, 2)...)
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for i := range 500 {
		wg.Go(func() {
			on := []*apitest.Server{s, other}[i%2]
			_, err := on.Tester.Capture(t.Context(), sized(urls[i%20], 1000*(i%400)))
			code := "kept"
			if err != nil {
				refusal, ok := problem.As(err)
				if !ok {
					t.Error(err)
					return
				}
				code = refusal.Code
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[code]++
		})
		if i%250 == 100 {
			wg.Go(func() { owner.Call(t, "DELETE", "/v1/me/webhook-tester/"+urls[i%18].Token+"/delete", nil).Is(t, 200) })
		}
	}
	wg.Wait()
	h, theirs := holdingsOf(t, s, owner.TenantID), holdingsOf(t, s, neighbour.TenantID)
	require.Positive(t, outcomes["kept"])
	require.Equal(t, 500, outcomes["kept"]+outcomes["rate_limited"]+outcomes["not_found"], "%v", outcomes)
	require.LessOrEqual(t, h.Rows+theirs.Rows, outcomes["kept"])
	var captured int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT sum(captured) FROM capture_urls WHERE tenant_id IN ($1, $2)",
		owner.TenantID, neighbour.TenantID).Scan(&captured))
	require.Equal(t, outcomes["kept"], captured)
}

// TestAUsedUpMinuteIsKnownBeforeTheBody: a request above the limit is refused by
// its headers.
func TestAUsedUpMinuteIsKnownBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	for range 63 {
		_, err := s.Tester.Capture(t.Context(), sized(u, mib))
		require.NoError(t, err)
	}
	_, err := s.Tester.Expect(t.Context(), u.Token, 2*mib)
	require.True(t, problem.Is(err, "rate_limited"), "its length says that it doesn't fit")
	tenantID, err := s.Tester.Expect(t.Context(), u.Token, 1000)
	require.NoError(t, err)
	require.Equal(t, owner.TenantID, tenantID)
	_, err = s.Tester.Capture(t.Context(), sized(u, 2*mib)) // its length was unknown before
	require.True(t, problem.Is(err, "rate_limited"))
	for _, length := range []int64{-1, 0, 1000} {
		_, err = s.Tester.Expect(t.Context(), u.Token, length)
		require.True(t, problem.Is(err, "rate_limited"), "the minute is used up")
	}
	before := holdingsOf(t, s, owner.TenantID)
	s.Clock.Advance(time.Minute)
	s.Send(t, u, "POST", "", []byte("x"))
	require.Greater(t, holdingsOf(t, s, owner.TenantID).Actual, before.Actual-mib)
}

// TestALowerPlanTakesNothingAway: a tenant's captures stay, but don't grow.
func TestALowerPlanTakesNothingAway(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "STARTER")
	urls := captureURLs(t, owner, 20)
	for i := range 80 {
		_, err := s.Tester.Capture(t.Context(), sized(urls[i%20], mib))
		require.NoError(t, err)
	}
	before := holdingsOf(t, s, owner.TenantID)
	require.Equal(t, 80, before.Rows)
	owner.SetPlan(t, "FREE")
	s.Clock.Advance(time.Minute)
	for range 5 {
		_, err := s.Tester.Capture(t.Context(), sized(urls[0], mib))
		require.NoError(t, err)
	}
	require.Equal(t, before, holdingsOf(t, s, owner.TenantID))
}

// TestASuspendedTenantsURLsCaptureNothing: they capture again once the tenant is
// active.
func TestASuspendedTenantsURLsCaptureNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	owner.SetTenantStatus(t, "SUSPENDED")
	s.With(t, "").Call(t, "POST", apitest.CapturePath(t, u), "{}").Problem(t, http.StatusForbidden, "tenant_suspended")
	_, err := s.Tester.Capture(t.Context(), sized(u, 1)) // as if the tenant was suspended while the body was received
	require.True(t, problem.Is(err, "tenant_suspended"))
	owner.SetTenantStatus(t, "ACTIVE")
	s.Send(t, u, "POST", "", nil)
	require.Len(t, owner.Captures(t, u), 1)
}

// TestAllCapturesTogetherAreBounded: above the server's total the oldest captures
// of all tenants are deleted.
func TestAllCapturesTogetherAreBounded(t *testing.T) {
	t.Parallel()
	const total = 20 * mib
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t), CaptureBytes: total})
	owner, neighbour := s.Register(t), s.Register(t)
	mine, theirs := owner.CaptureURL(t), neighbour.CaptureURL(t)
	first := s.Send(t, theirs, "POST", "", bytes.Repeat([]byte{2}, mib))
	for range 30 {
		s.Clock.Advance(time.Second)
		_, err := s.Tester.Capture(t.Context(), sized(mine, mib))
		require.NoError(t, err)
		require.LessOrEqual(t, holdingsOf(t, s, owner.TenantID).Actual+holdingsOf(t, s, neighbour.TenantID).Actual, int64(total))
	}
	require.Empty(t, neighbour.Captures(t, theirs), "%s was the oldest", first)
	require.Len(t, owner.Captures(t, mine), 4, "one page")
	require.Equal(t, 19, holdingsOf(t, s, owner.TenantID).Rows)

	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, err := s.Tester.Capture(context.Background(), sized(mine, mib)); err != nil && !problem.Is(err, "rate_limited") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// Concurrent requests may exceed the total; the next request corrects that.
	s.Clock.Advance(time.Minute)
	_, err := s.Tester.Capture(t.Context(), sized(mine, 1))
	require.NoError(t, err)
	require.LessOrEqual(t, holdingsOf(t, s, owner.TenantID).Actual, int64(total))
}

// TestCapturesCanBeRefused: before their bodies are read, for example while the
// disk is full.
func TestCapturesCanBeRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	u := s.Register(t).CaptureURL(t)
	full := errors.New("no room")
	refusing := tester.New(tester.Config{Pool: s.Pool, Refuse: func() error { return full }})
	_, err := refusing.Expect(t.Context(), u.Token, 1)
	require.ErrorIs(t, err, full)
	_, err = s.Tester.Expect(t.Context(), u.Token, 1)
	require.NoError(t, err)
}
