package tester_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
	"showfloor/internal/dbtest"
	"showfloor/internal/problem"
	"showfloor/internal/tester"
)

// TestUnwrittenCapturesAreBounded: while the database doesn't answer, the bodies
// of 256 requests are held in memory and no more.
func TestUnwrittenCapturesAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	u := s.Register(t).CaptureURL(t)
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT FROM capture_urls WHERE token = $1 FOR UPDATE", u.Token)
	require.NoError(t, err)

	const waiting, beyond = 256, 44
	results := make(chan error, waiting+beyond)
	for range waiting + beyond {
		go func() {
			_, err := s.Tester.Capture(t.Context(), tester.Request{Token: u.Token, Method: "POST", URL: &url.URL{Path: "/"}, Header: http.Header{}})
			results <- err
		}()
	}
	for range beyond {
		require.True(t, problem.Is(<-results, "rate_limited"))
	}
	require.NoError(t, tx.Rollback(t.Context()))
	for range waiting {
		require.NoError(t, <-results)
	}
}

// TestACaptureWhoseAnswerIsLostIsKeptOnce: the database wrote it down, but stalled for
// longer than the writer waited for its answer.
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
