package sfu

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPanicsAreCountedAndEachOriginIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := New(Config{Addr: "127.0.0.1:0", Gate: rejectAll{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	fail := func(f func()) {
		defer s.recovered("a test")
		f()
	}
	var none *track
	for range 3 {
		fail(func() { _ = none.source })
		fail(func() { panic("another") })
	}
	fail(func() {})
	require.Equal(t, uint64(6), s.Stats().Panics)
	require.Equal(t, 2, strings.Count(log.String(), "a test panicked"))
	require.Contains(t, log.String(), "faults_test.go")
}
