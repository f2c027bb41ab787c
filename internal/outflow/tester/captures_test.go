package tester_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/tester"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestUnwrittenCapturesAreBounded: while the database doesn't answer, memory holds
// the bodies of at most 256 requests. One tenant leaves 48 places to others.
func TestUnwrittenCapturesAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	u := s.Register(t).CaptureURL(t)
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM capture_urls WHERE token = $1 FOR UPDATE", u.Token)
	require.NoError(t, err)

	results := make(chan error, 1000)
	for _, c := range []struct {
		tenant        string
		sent, refused int
	}{{"busy", 300, 92}, {"one", 20, 4}, {"another", 20, 4}, {"busy", 5, 5}, {"a third", 20, 4}, {"a fourth", 20, 20}} {
		for range c.sent {
			go func() {
				r := sized(u, 0)
				r.TenantID = c.tenant
				_, err := s.Tester.Capture(t.Context(), r)
				results <- err
			}()
		}
		for range c.refused {
			require.True(t, problem.Is(<-results, "rate_limited"))
		}
	}
	require.NoError(t, tx.Rollback(t.Context()))
	for range 256 {
		require.NoError(t, <-results)
	}
}

// TestACaptureWhoseAnswerIsLostIsKeptOnce: the database stored the capture, but
// answered later than the writer's timeout.
func TestACaptureWhoseAnswerIsLostIsKeptOnce(t *testing.T) {
	t.Parallel()
	pool, loss := dbtest.NewLossy(t)
	s := apitest.New(t, apitest.Options{Pool: pool})
	owner := s.Register(t)
	u := owner.CaptureURL(t)
	loss.Next("CreateCaptures")
	captureID, err := s.Tester.Capture(t.Context(), tester.Request{Token: u.Token, Method: "POST", URL: &url.URL{Path: "/"}, Header: http.Header{}})
	require.NoError(t, err)
	require.Equal(t, 1, loss.Lost())
	list := owner.Captures(t, u)
	require.Len(t, list, 1)
	require.Equal(t, captureID, list[0].ID)
}
