package webhook

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func TestDefaultScheduleIsThatOfTheDocument(t *testing.T) {
	t.Parallel()
	want := []string{"5s", "5m0s", "30m0s", "2h0m0s", "5h0m0s", "10h0m0s", "10h0m0s"}
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(DefaultSchedule()), "eight attempts, the first at once")
}

func TestPauseIsSpreadByAFifth(t *testing.T) {
	t.Parallel()
	schedule := DefaultSchedule()
	for attempt, d := range schedule {
		shortest, longest := 2*d, time.Duration(0)
		for i := range 2000 {
			p := pause(fmt.Sprintf("del_%d", i), attempt, schedule)
			require.Equal(t, p, pause(fmt.Sprintf("del_%d", i), attempt, schedule), "the same whenever it is asked")
			shortest, longest = min(shortest, p), max(longest, p)
		}
		require.GreaterOrEqual(t, shortest, d*8/10)
		require.LessOrEqual(t, longest, d*12/10+time.Nanosecond)
		require.Less(t, shortest, d*82/100, "it really spreads")
		require.Greater(t, longest, d*118/100)
	}
}

func TestRecording(t *testing.T) {
	t.Parallel()
	schedule := []time.Duration{time.Second, time.Minute}
	ok, bad := new(int32(204)), new(int32(500))
	for name, c := range map[string]struct {
		attempts int32
		o        outcome
		status   string
		again    bool
	}{
		"arrived":             {0, outcome{status: ok, body: new("")}, "delivered", false},
		"arrived at last":     {2, outcome{status: ok}, "delivered", false},
		"first failure":       {0, outcome{status: bad, failure: "answered 500"}, "retrying", true},
		"second failure":      {1, outcome{failure: "connection refused"}, "retrying", true},
		"last failure":        {2, outcome{status: bad, failure: "answered 500"}, "failed", false},
		"beyond the schedule": {7, outcome{status: bad, failure: "answered 500"}, "failed", false},
		"gone":                {0, outcome{status: new(int32(410)), failure: "answered 410", gone: true}, "failed", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.took = 1500 * time.Microsecond
			p, again, err := recording(db.ListDeliveriesForAttemptRow{ID: "del_1", TenantID: "ten_1", Tries: c.attempts}, c.o, noon, schedule)
			require.NoError(t, err)
			require.Equal(t, c.status, p.Status)
			require.Equal(t, c.attempts, p.Tries)
			require.Equal(t, c.again, !again.IsZero())
			require.Equal(t, c.again, p.NextAttemptAt != nil)
			require.Equal(t, c.status == "delivered", p.DeliveredAt != nil)
			if c.again {
				wait := schedule[c.attempts]
				require.WithinDuration(t, noon.Add(wait), again, wait/5)
			}
			var log []map[string]any
			require.NoError(t, json.Unmarshal(p.Entry, &log))
			require.Len(t, log, 1)
			require.Equal(t, "2026-05-04T12:00:00.000Z", log[0]["at"])
			require.InDelta(t, 1, log[0]["durationMs"], 0)
			if c.o.failure == "" {
				require.Nil(t, log[0]["error"])
			} else {
				require.Equal(t, c.o.failure, log[0]["error"])
				require.Equal(t, c.o.failure, *p.Error)
			}
		})
	}
}
