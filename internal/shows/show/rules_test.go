package show

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
)

func TestPinned(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	live := db.Stream{Status: "LIVE", StartedAt: &start}
	for name, c := range map[string]struct {
		st    db.Stream
		pin   *db.ProductPin
		shown bool
	}{
		"no pin":                    {live, nil, false},
		"pinned":                    {live, &db.ProductPin{ProductID: "mug", PinnedAt: start.Add(time.Minute)}, true},
		"unpinned":                  {live, &db.ProductPin{PinnedAt: start.Add(time.Minute)}, false},
		"shortly before":            {live, &db.ProductPin{ProductID: "mug", PinnedAt: start.Add(-time.Hour)}, true},
		"in an earlier broadcast":   {live, &db.ProductPin{ProductID: "mug", PinnedAt: start.Add(-time.Hour - 1)}, false},
		"off air":                   {db.Stream{Status: "ENDED", StartedAt: &start}, &db.ProductPin{ProductID: "mug", PinnedAt: start.Add(-5 * time.Hour)}, true},
		"the encoder is gone":       {db.Stream{Status: "RECONNECTING", StartedAt: &start}, &db.ProductPin{ProductID: "mug", PinnedAt: start.Add(-2 * time.Hour)}, false},
		"never on air, pinned once": {db.Stream{Status: "IDLE"}, &db.ProductPin{ProductID: "mug", PinnedAt: start}, true},
	} {
		require.Equal(t, c.shown, pinned(c.st, c.pin) != nil, name)
	}
}

func TestShelved(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"b", "a", "c"}, shelved([]string{"b", "a"}, []string{"a", "c"}))
	require.Empty(t, shelved(nil, nil))
	var full []string
	for i := range maxProducts {
		full = append(full, strconv.Itoa(i))
	}
	list := shelved(full, []string{"199", "x", "y"})
	require.Len(t, list, maxProducts)
	require.Equal(t, []string{"0", "1"}, list[:2])
	require.Equal(t, []string{"196", "199", "x", "y"}, list[maxProducts-4:], "the end of the shelf makes room")
}

func TestKept(t *testing.T) {
	t.Parallel()
	var now, reads atomic.Int64
	errDown := errors.New("the database is down")
	k := keep(func() time.Time { return time.Unix(0, now.Load()) }, func(_ context.Context, id string) (string, error) {
		n := reads.Add(1)
		switch id {
		case "down":
			return "", errDown
		case "unknown":
			return "", problem.Missing("show")
		}
		return fmt.Sprint(id, n), nil
	})
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			got, err := k.get(t.Context(), "a")
			if err != nil || got != "a1" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	callers.Wait()
	now.Store(int64(keepFor))
	got, err := k.get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "a2", got)
	for range 2 {
		_, err = k.get(t.Context(), "unknown")
		require.EqualError(t, err, "show not found")
	}
	require.EqualValues(t, 3, reads.Load(), "a problem is kept")
	for range 2 {
		_, err = k.get(t.Context(), "down")
		require.ErrorIs(t, err, errDown)
	}
	require.EqualValues(t, 5, reads.Load(), "a failure isn't")

	for i := range 2 * maxKept {
		_, err = k.get(t.Context(), "n"+strconv.Itoa(i))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(k.answers), maxKept)
	require.LessOrEqual(t, len(k.order), maxKept)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	now.Store(2 * int64(keepFor))
	if _, err = k.get(gone, "a"); err != nil {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestOffersRealtime(t *testing.T) {
	t.Parallel()
	s := &Service{config: Config{TenantWatchers: 2}}
	for name, c := range map[string]struct {
		status  string
		viewers int
		media   stream.Media
		offered bool
	}{
		"live":                {"LIVE", 1, stream.Media{VideoCodec: "H264"}, true},
		"as many as places":   {"LIVE", 2, stream.Media{VideoCodec: "H264"}, true},
		"more than places":    {"LIVE", 3, stream.Media{VideoCodec: "H264"}, false},
		"B-frames":            {"LIVE", 0, stream.Media{VideoCodec: "H264", BFrames: true}, false},
		"H.265":               {"LIVE", 0, stream.Media{VideoCodec: "H265"}, false},
		"on an SRS server":    {"LIVE", 0, stream.Media{}, false},
		"the encoder is gone": {"RECONNECTING", 0, stream.Media{VideoCodec: "H264"}, false},
	} {
		v := &Show{View: stream.View{Stream: db.Stream{Status: c.status}, Viewers: c.viewers, Health: stream.Health{Media: c.media}}}
		require.Equal(t, c.offered, s.OffersRealtime(v), name)
	}
}
