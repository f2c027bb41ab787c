package loglimit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/loglimit"
)

// line is a logged line with the fields that tests check.
type line struct {
	Level, Msg, Error, Component string
	N, Suppressed                int
}

// rig is a limited log whose clock stands still until it is moved.
type rig struct {
	log     *slog.Logger
	limiter *loglimit.Handler
	out     bytes.Buffer
	now     time.Time
}

func newRig() *rig {
	r := &rig{now: time.Now()}
	r.limiter = loglimit.New(slog.NewJSONHandler(&r.out, nil), 10*time.Second, func() time.Time { return r.now })
	r.log = slog.New(r.limiter)
	return r
}

// written returns the lines since the last call.
func (r *rig) written(t *testing.T) []line {
	t.Helper()
	var lines []line
	for text := range bytes.SplitSeq(bytes.TrimSpace(r.out.Bytes()), []byte("\n")) {
		if len(text) == 0 {
			continue
		}
		var l line
		require.NoError(t, json.Unmarshal(text, &l))
		lines = append(lines, l)
	}
	r.out.Reset()
	return lines
}

func TestAStormLeavesAFewLinesAndTheirNumber(t *testing.T) {
	t.Parallel()
	r := newRig()
	const storms, lines = 8, 10_000
	var work sync.WaitGroup
	for storm := range storms {
		work.Go(func() {
			log := r.log.With("component", fmt.Sprint("c", storm))
			for n := range lines {
				log.Error("producer: Error fetching jobs", "err", fmt.Errorf("dial /tmp/x-%d/sock: connection refused", n), "n", n)
			}
		})
	}
	work.Wait()
	r.log.Error("payment lost", "error", errors.New("a cause of its own"))
	got := r.written(t)
	require.Len(t, got, 11)
	require.Equal(t, "payment lost", got[10].Msg)

	r.now = r.now.Add(9 * time.Second)
	r.limiter.Sum(r.now.Add(-10 * time.Second))
	require.Empty(t, r.written(t), "the period isn't over")
	r.now = r.now.Add(time.Second)
	r.limiter.Sum(r.now.Add(-10 * time.Second))
	got = r.written(t)
	require.Len(t, got, 1)
	require.Equal(t, storms*lines-10, got[0].Suppressed)
	require.Equal(t, "ERROR", got[0].Level)
	require.Equal(t, "producer: Error fetching jobs", got[0].Msg)
	require.NotEmpty(t, got[0].Component, "its logger's attributes are those of the line")

	r.log.Error("producer: Error fetching jobs", "err", errors.New("dial /tmp/x-1/sock: connection refused"))
	require.Len(t, r.written(t), 1, "a new period")
}

func TestCausesDoNotHideEachOther(t *testing.T) {
	t.Parallel()
	r := newRig()
	for n := range 1000 {
		r.log.Error("request failed", "error", fmt.Errorf("begin: connect to 10.0.0.%d:5432: refused", n%250), "requestId", n)
	}
	require.Len(t, r.written(t), 10)
	for _, other := range []func(){
		func() { r.log.Error("request failed", "error", errors.New("lock auction: deadlock detected")) },
		func() { r.log.Error("request failed") },
		func() { r.log.Warn("request failed", "error", errors.New("begin: connect to 10.0.0.1:5432: refused")) },
		func() { r.log.Error("another", "error", errors.New("begin: connect to 10.0.0.1:5432: refused")) },
	} {
		other()
		require.Len(t, r.written(t), 1)
	}
}

// TestManyCausesAreBounded: lines of each cause pass until there are too many causes.
func TestManyCausesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig()
	word := func(n int) string { // without digits, which wouldn't make a difference
		return string([]byte{'a' + byte(n/676%26), 'a' + byte(n/26%26), 'a' + byte(n%26)})
	}
	for n := range 5000 {
		r.log.Warn("bad input", "error", errors.New(word(n)))
	}
	require.Len(t, r.written(t), 20+10, "one of each, then those that share a count")
	for n := range 5000 {
		r.log.Warn(word(n))
	}
	require.Less(t, len(r.written(t)), 1000+10)
	r.now = r.now.Add(time.Minute)
	r.limiter.Sum(r.now)
	sum := 0
	for _, l := range r.written(t) {
		sum += l.Suppressed
	}
	require.Greater(t, sum, 5000)
	for n := range 500 {
		r.log.Warn(word(n))
	}
	require.Len(t, r.written(t), 500, "the counts are deleted")
}

func TestLevels(t *testing.T) {
	t.Parallel()
	r := newRig()
	debug := slog.New(loglimit.New(slog.NewJSONHandler(&r.out, &slog.HandlerOptions{Level: slog.LevelDebug}), 0, nil))
	for range 1000 {
		debug.Debug("detail")
	}
	require.Len(t, r.written(t), 1000)
	for range 1000 {
		debug.Info("on air")
	}
	require.Len(t, r.written(t), 200)
	require.False(t, r.limiter.Enabled(t.Context(), slog.LevelDebug))
}

func TestRunWritesTheRemainingLines(t *testing.T) {
	t.Parallel()
	r := newRig()
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { r.limiter.Run(ctx) })
	for range 15 {
		r.log.WithGroup("g").Warn("again")
	}
	stop()
	work.Wait()
	got := r.written(t)
	require.Len(t, got, 11)

	r.log.Error("after the end")
	require.Empty(t, r.written(t))
}

// TestRequestsOfOneRouteDoNotHideOthers: lines about requests count by route and class of
// status, however many routes there are.
func TestRequestsOfOneRouteDoNotHideOthers(t *testing.T) {
	t.Parallel()
	r := newRig()
	request := func(route string, status int) {
		r.log.LogAttrs(t.Context(), slog.LevelInfo, "request", slog.String("route", route), slog.Int("status", status))
	}
	for n := range 1000 {
		request("/v1/auth/login", 400+n%30)
	}
	require.Len(t, r.written(t), 200)
	request("/v1/auth/login", 500)
	require.Len(t, r.written(t), 1, "another class")
	for n := range 100 {
		request("/v1/me/"+string([]byte{'a' + byte(n/26), 'a' + byte(n%26)}), 404)
	}
	require.Len(t, r.written(t), 100, "other routes")

	r.now = r.now.Add(time.Minute)
	r.limiter.Sum(r.now)
	got := r.written(t)
	require.Len(t, got, 1)
	require.Equal(t, 800, got[0].Suppressed)
}
