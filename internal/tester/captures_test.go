package tester_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
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
