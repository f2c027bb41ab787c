package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/soak"
)

// callers is how many streams start and end through SRS callbacks.
const callers = 3

// caller simulates an SRS server that repeats each callback until it is answered.
type caller struct {
	t      testing.TB
	calls  *client.ClientWithResponses
	stream api.Stream
	// cycles counts the broadcasts whose publish and unpublish were answered.
	cycles int
}

// run starts and ends broadcasts until stop. Afterwards no broadcast is live.
func (c *caller) run(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		callback := api.IngestCallback{ClientID: fmt.Sprintf("%s-%d", c.stream.ID, n), Stream: c.stream.StreamKey}
		c.insist(func(ctx context.Context) int {
			answer, err := c.calls.IngestPublishWithResponse(ctx, callback)
			if err != nil {
				return 0
			}
			return answer.StatusCode()
		})
		c.insist(func(ctx context.Context) int {
			answer, err := c.calls.IngestUnpublishWithResponse(ctx, callback)
			if err != nil {
				return 0
			}
			return answer.StatusCode()
		})
		c.cycles++
	}
}

// insist repeats the call until it is answered. There is no answer while the
// server is down.
func (c *caller) insist(call func(ctx context.Context) int) {
	tick := time.NewTicker(15 * time.Millisecond)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		status := call(ctx)
		cancel()
		<-tick.C // also sets the rhythm of the broadcasts
		if status == http.StatusCreated {
			return
		}
		if status != 0 && status < http.StatusInternalServerError {
			c.t.Errorf("the callback was answered with %d", status)
			return
		}
	}
}

// TestKillAtAnyTime kills the server repeatedly at random instants while
// broadcasts start and end. Afterwards there must be exactly one pair of events
// for each broadcast, and one delivery for each event.
func TestKillAtAnyTime(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s := serve(t, set("DATABASE_URL", pool.Config().ConnString()))
	a := signUp(t, s)
	_, err := pool.Exec(t.Context(), "UPDATE tenants SET plan = 'ENTERPRISE'") // FREE allows two streams on air
	require.NoError(t, err)
	hooks := newSink(t, a, nil)

	stop := make(chan struct{})
	halt := sync.OnceFunc(func() { close(stop) })
	var busy sync.WaitGroup
	t.Cleanup(func() { halt(); busy.Wait() })
	var sources []*caller
	for range callers {
		c := &caller{t: t, calls: a.ClientWithResponses, stream: a.newStream(api.StreamModeLOWLATENCY, 0)}
		sources = append(sources, c)
		busy.Go(func() { c.run(stop) })
	}
	encoded := a.newStream(api.StreamModeLOWLATENCY, 0)
	var published atomic.Int64
	busy.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			e := encode(t, target(encoded))
			published.Add(1)
			select {
			case <-e.ended:
			case <-time.After(300*time.Millisecond + rand.N(time.Second)):
				e.terminate(t)
			}
		}
	})

	kills := soak.Times(10, 30)
	for range kills {
		pause(t, 100*time.Millisecond+rand.N(1200*time.Millisecond))
		s.kill()
		s.start(t)
	}
	pause(t, time.Second)
	halt()
	busy.Wait()
	// On a busy machine no encoder may have got as far as a broadcast between two kills.
	e := encode(t, target(encoded))
	published.Add(1)
	a.await(encoded.ID, api.StreamStatusLIVE)
	e.terminate(t)
	a.await(encoded.ID, api.StreamStatusENDED)

	for _, c := range sources {
		require.Equal(t, api.StreamStatusENDED, a.stream(c.stream.ID).Status)
		require.Equal(t, c.cycles, requirePairs(t, pool, c.stream.ID), "broadcasts of a stream")
	}
	broadcasts := requirePairs(t, pool, encoded.ID)
	require.Positive(t, broadcasts)
	require.LessOrEqual(t, broadcasts, int(published.Load()))
	n := requireDelivered(t, pool, hooks)
	t.Logf("%d kills, %d events, %d attempts, %d RTMP broadcasts of %d encoder starts", kills, n, len(hooks.all()), broadcasts, published.Load())
}

// requirePairs requires that the stream's events alternate in the database, in
// the order of the commits, and returns the number of broadcasts.
func requirePairs(t testing.TB, pool *pgxpool.Pool, streamID string) int {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT event FROM events WHERE subject = $1 ORDER BY occurred_at, id", streamID)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[api.EventName])
	require.NoError(t, err)
	require.Zero(t, len(names)%2, "each broadcast has its end")
	for i, name := range names {
		require.Equal(t, startedAndEnded[i%2], name, "event %d of %d", i, len(names))
	}
	return len(names) / 2
}

// requireDelivered waits for all deliveries and requires that the received
// events equal the stored ones, in the order of each stream's events.
func requireDelivered(t testing.TB, pool *pgxpool.Pool, hooks *sink) int {
	t.Helper()
	until(t, "all deliveries are made", func() bool {
		var left int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM webhook_deliveries WHERE status <> 'delivered')
			+ (SELECT count(*) FROM events WHERE fanned_at IS NULL)`).Scan(&left))
		return left == 0
	})
	rows, err := pool.Query(t.Context(), `SELECT d.id FROM events e LEFT JOIN webhook_deliveries d ON d.event_id = e.id`)
	require.NoError(t, err)
	recorded, err := pgx.CollectRows(rows, pgx.RowTo[*string])
	require.NoError(t, err)
	want := map[string]bool{}
	for _, id := range recorded {
		require.NotNil(t, id, "an event without its delivery")
		require.False(t, want[*id])
		want[*id] = true
	}
	got := map[string]bool{}
	turns := map[any]int{}
	for _, a := range hooks.all() {
		if !got[a.delivery] {
			got[a.delivery] = true
			id := a.Data["streamId"]
			require.Equal(t, startedAndEnded[turns[id]%2], a.Event, "first attempts come in the order of the events")
			turns[id]++
		}
	}
	require.Equal(t, want, got)
	return len(want)
}
