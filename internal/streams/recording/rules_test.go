package recording

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
)

func at(seconds float64) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	spans := []span{{at(10), 20 * time.Second}, {at(60), 10 * time.Second}}
	type pin struct {
		second  float64
		product string
	}
	for name, c := range map[string]struct {
		spans []span
		pins  []pin
		want  []Pin
	}{
		"nothing":                          {spans, nil, []Pin{}},
		"before the first segment":         {nil, []pin{{1, "a"}}, []Pin{}},
		"the last one before the start":    {spans, []pin{{1, "a"}, {2, "b"}}, []Pin{{0, "b"}}},
		"at the start":                     {spans, []pin{{1, "a"}, {10, "b"}}, []Pin{{0, "a"}, {0, "b"}}},
		"within":                           {spans, []pin{{9, "a"}, {11.5, "b"}, {29.9995, "c"}}, []Pin{{0, "a"}, {1.5, "b"}, {19.999, "c"}}},
		"in the gap":                       {spans, []pin{{30, "a"}, {45, "b"}, {59, "c"}}, []Pin{{20, "a"}, {20, "b"}, {20, "c"}}},
		"after the gap":                    {spans, []pin{{60, "a"}, {61, "b"}}, []Pin{{20, "a"}, {21, "b"}}},
		"behind the last segment":          {spans, []pin{{80, "a"}}, []Pin{{30, "a"}}},
		"again without another in between": {spans, []pin{{5, "a"}, {12, "a"}, {13, "b"}, {14, "a"}}, []Pin{{0, "a"}, {3, "b"}, {4, "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pins []db.ProductPin
			for _, p := range c.pins {
				pins = append(pins, db.ProductPin{ProductID: p.product, PinnedAt: at(p.second)})
			}
			require.Equal(t, c.want, timeline(c.spans, pins))
		})
	}
}

func TestTimelineIsBounded(t *testing.T) {
	t.Parallel()
	var pins []db.ProductPin
	for i := range 3000 {
		pins = append(pins, db.ProductPin{ProductID: string(rune('a' + i%2)), PinnedAt: at(1)})
	}
	require.Len(t, timeline([]span{{at(0), time.Second}}, pins), maxTimeline)
}

func TestMayStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, node      string
		recorded, outside bool
		source, refusal   string
	}{
		"live":                      {stream.Live, "n", false, false, Builtin, ""},
		"reconnecting":              {stream.Reconnecting, "n", false, true, Builtin, ""},
		"idle":                      {stream.Idle, "", false, false, "", "the stream is not live"},
		"ended":                     {stream.Ended, "n", false, false, "", "the stream is not live"},
		"recorded":                  {stream.Live, "n", true, false, "", "the stream is being recorded already"},
		"SRS":                       {stream.Live, "", false, false, "", "the stream is published on an SRS server, which this server can't record"},
		"SRS with outside recorder": {stream.Live, "", false, true, External, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := mayStart(db.Stream{Status: c.status, Node: c.node}, c.recorded, c.outside)
			require.Equal(t, c.source, source)
			if c.refusal == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.refusal)
			}
		})
	}
}

func TestMayDelete(t *testing.T) {
	t.Parallel()
	for _, status := range []string{Ready, Failed} {
		require.NoError(t, mayDelete(db.Recording{Status: status}))
		require.Error(t, mayDelete(db.Recording{Status: status, LegalHold: true}))
	}
	for _, status := range []string{Recording, Processing} {
		require.Error(t, mayDelete(db.Recording{Status: status}))
	}
}

func TestStranded(t *testing.T) {
	t.Parallel()
	r := db.Recording{BroadcastAt: at(0), StartedAt: at(1)}
	live := db.Stream{Status: stream.Live, StartedAt: new(at(0))}
	require.False(t, isStranded(r, live))
	live.StartedAt = new(at(9))
	require.True(t, isStranded(r, live), "a later broadcast")
	over := db.Stream{Status: stream.Ended, StartedAt: new(at(0)), EndedAt: new(at(5))}
	require.True(t, isStranded(r, over))
	require.Equal(t, at(5), strandedEnd(r, over, at(9)))
	require.Equal(t, at(4), strandedEnd(r, over, at(4)))
	over.EndedAt = new(at(0.5))
	require.Equal(t, at(9), strandedEnd(r, over, at(9)))
}

func TestRetainUntil(t *testing.T) {
	t.Parallel()
	require.Nil(t, retainUntil(db.Recording{}, nil, at(0)))
	require.Equal(t, at(86400), *retainUntil(db.Recording{}, new(int32(1)), at(0)))
	require.Equal(t, at(5), *retainUntil(db.Recording{RetainUntil: new(at(5)), RetentionSet: true}, new(int32(1)), at(0)))
	require.Nil(t, retainUntil(db.Recording{RetentionSet: true}, new(int32(1)), at(0)), "an admin keeps it")
}

func TestReports(t *testing.T) {
	t.Parallel()
	good := func() Report {
		return Report{Ready: true, PlaylistURL: new("https://r.example/a"), DurationSec: new(1.0)}
	}
	for name, c := range map[string]struct {
		change func(*Report)
		fields []string
	}{
		"ready":            {func(*Report) {}, nil},
		"no playlist":      {func(r *Report) { r.PlaylistURL = nil }, []string{"playlistUrl"}},
		"another protocol": {func(r *Report) { r.PlaylistURL = new("file:///etc/passwd") }, []string{"playlistUrl"}},
		"no duration":      {func(r *Report) { r.DurationSec = nil }, []string{"durationSec"}},
		"too long":         {func(r *Report) { r.DurationSec = new(1e300) }, []string{"durationSec"}},
		"nothing":          {func(r *Report) { *r = Report{Ready: true} }, []string{"playlistUrl", "durationSec"}},
		"failed":           {func(r *Report) { *r = Report{Error: new("no space")} }, nil},
		"without a reason": {func(r *Report) { *r = Report{} }, []string{"error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := good()
			c.change(&r)
			err := r.check()
			if c.fields == nil {
				require.NoError(t, err)
				return
			}
			p, ok := problem.As(err)
			require.True(t, ok)
			var fields []string
			for _, f := range p.Fields {
				fields = append(fields, f.Field)
			}
			require.Equal(t, c.fields, fields)
		})
	}
	require.Equal(t, 12346*time.Millisecond, Report{DurationSec: new(12.3456)}.duration())
}

func TestReasons(t *testing.T) {
	t.Parallel()
	require.Nil(t, incomplete(nil, nil))
	require.Equal(t, "take", *incomplete(nil, new("take")))
	require.Equal(t, "end", *incomplete(new("end"), new("take")))
	require.Equal(t, "nothing was recorded: full", nothing(db.Recording{Source: Builtin}, new("full")))
	require.Contains(t, nothing(db.Recording{Source: Session}, nil), reasonNoParticipant)
}
