package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/dbtest"
)

// serveTwo starts two servers on one database.
func serveTwo(t testing.TB, pool *pgxpool.Pool) (a, b *server) {
	t.Helper()
	both := []option{
		set("DATABASE_URL", pool.Config().ConnString()), set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"),
		set("MASTER_KEY", "c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI="),
	}
	return serve(t, both...), serve(t, both...)
}

// at returns the URL of a server's SFU.
func at(s *server) string { return strings.Replace(s.url, "http", "ws", 1) + "/sfu" }

// TestARoomLeavesAServerThatStops checks that tokens issued from then on name the
// other server, where the participants find the room with the same state.
func TestARoomLeavesAServerThatStops(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	a, b := serveTwo(t, pool)
	m := newMeeting(t, a, 1, 3)
	_, issued := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "ben"})
	has, other := a, b
	if issued["sfuUrl"] == at(b) {
		has, other = b, a
	}
	require.Equal(t, at(has), issued["sfuUrl"])
	m.s = has
	ben, first := m.dial(m.room, fmt.Sprint(issued["token"]))
	require.Equal(t, "welcome", first.Type)
	defer ben.CloseNow()
	_, quiet := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "eve"})
	eve, first := m.dial(m.room, fmt.Sprint(quiet["token"])) // doesn't answer the server's "bye"
	require.Equal(t, "welcome", first.Type)
	defer eve.CloseNow()
	hung := make(chan heard, 1)
	go func() {
		var last heard
		for h, err := hear(t.Context(), ben); err == nil; h, err = hear(t.Context(), ben) {
			last = h
		}
		hung <- last
	}()

	require.Zero(t, has.terminate(t), has.err.String())
	require.Equal(t, "shutdown", (<-hung).Code)
	m.s = other
	status, moved := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "cara"})
	require.Equal(t, http.StatusCreated, status, "%v", moved)
	require.Equal(t, at(other), moved["sfuUrl"])
	status, full := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "dan"})
	require.Equal(t, http.StatusConflict, status, "their seats were kept: %v", full)
	for _, token := range []any{issued["token"], quiet["token"], moved["token"]} {
		conn, first := m.dial(m.room, fmt.Sprint(token))
		require.Equal(t, "welcome", first.Type, first.Code)
		defer conn.CloseNow()
	}
	requireSeats(t, pool)

	// After a restart under the same name, the server gets rooms again.
	has.start(t)
	m.s = has
	_, again := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "cara"})
	require.Equal(t, at(other), again["sfuUrl"])
	until(t, "a room is placed on the server that came back", func() bool {
		_, session := m.try("POST", "/v1/me/sessions", map[string]any{"type": "conference", "name": "Another", "hostId": "host"})
		_, token := m.try("POST", fmt.Sprintf("/v1/me/sessions/%v/token", session["id"]), map[string]any{"userId": "cara"})
		return token["sfuUrl"] == at(has)
	})
}

// TestTwoNodesOneRoom has two servers on one database. A room is on one of them,
// independent of the server that issued the token; the other one names it. Decisions at one take effect at
// the other. When the server with the room is killed, the room moves to the other.
func TestTwoNodesOneRoom(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	a, b := serveTwo(t, pool)
	m := newMeeting(t, a, 1, 50)
	_, issued := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "ben"})
	where, token := fmt.Sprint(issued["sfuUrl"]), fmt.Sprint(issued["token"])
	has, other := a, b
	if where == at(b) {
		has, other = b, a
	}
	require.Equal(t, at(has), where)
	m.s = other
	_, again := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "cara"})
	require.Equal(t, where, again["sfuUrl"], "both servers name the same node")
	conn, first := m.dial(m.room, token)
	require.Equal(t, "bye", first.Type)
	require.Equal(t, "moved", first.Code)
	require.Equal(t, where, first.SFUURL)
	_ = conn.CloseNow()

	m.s = has
	ben, first := m.dial(m.room, token)
	require.Equal(t, "welcome", first.Type)
	defer ben.CloseNow()
	cara, first := m.dial(m.room, fmt.Sprint(again["token"]))
	require.Equal(t, "welcome", first.Type)
	defer cara.CloseNow()

	// The other node makes the changes.
	m.s = other
	for _, step := range []struct {
		method, path string
		body         any
		seen         func(h heard) bool
	}{
		{"POST", "/moderate/promote", map[string]any{"userId": "ben", "role": "cohost"}, func(h heard) bool {
			return h.Type == "participant" && h.Participant.UserID == "ben" && h.Participant.Role == "cohost"
		}},
		{"POST", "/moderate/mute-all", map[string]any{}, func(h heard) bool {
			return h.Type == "participant" && h.Participant.UserID == "ben" && h.Participant.Muted
		}},
		{"DELETE", "/participants/ben", nil, func(h heard) bool { return h.Type == "bye" && h.Code == "kicked" }},
	} {
		began := time.Now()
		status, answer := m.try(step.method, "/v1/me/sessions/"+m.room+step.path, step.body)
		require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status, "%v", answer)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		for {
			h, err := hear(ctx, ben)
			require.NoError(t, err, step.path)
			if step.seen(h) {
				break
			}
		}
		cancel()
		t.Logf("%s at one server is felt at the other after %s", step.path, time.Since(began).Round(time.Millisecond))
	}

	// The node with the room is killed; participants who ask again meet at the other node.
	has.kill()
	began := time.Now()
	var token2, token3 string
	until(t, "the room is placed again", func() bool {
		_, answer := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "cara"})
		token2 = fmt.Sprint(answer["token"])
		return answer["sfuUrl"] == at(other)
	})
	t.Logf("the room is elsewhere %s after its server was killed", time.Since(began).Round(time.Second))
	_, answer := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "dan"})
	token3 = fmt.Sprint(answer["token"])
	for _, token := range []string{token2, token3} {
		conn, first := m.dial(m.room, token)
		require.Equal(t, "welcome", first.Type, first.Code)
		defer conn.CloseNow()
	}
	require.Equal(t, "kicked", m.bye(token), "a kicked participant can't enter again")
	requireSeats(t, pool)
}

// floods is how many connections request admission to one room at once.
const floods = 10_000

// TestFloodAtTheDoor sends thousands of requests for admission to one room, with valid and
// made-up tokens, and with tokens for which there is no seat. Participants in the room
// must not be affected, and the server's resources must return to their level before.
func TestFloodAtTheDoor(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	m := newMeeting(t, s, 1, 2)
	var late string
	for _, user := range []string{"ada", "ben"} {
		token, status := m.token(user)
		require.Equal(t, 201, status)
		conn, first := m.dial(m.room, token)
		require.Equal(t, "welcome", first.Type)
		defer conn.CloseNow()
		m.stays[user] = &seat{conn: conn}
		late = token
	}
	goroutines := m.gauge(t, "go_goroutines")
	tokens := []string{"made-up", late + "x", "", strings.Repeat("a", 4000)}
	var work sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	began := time.Now()
	next := make(chan int)
	for range 100 {
		work.Go(func() {
			for i := range next {
				what := m.knock(tokens[i%len(tokens)])
				mu.Lock()
				seen[what]++
				mu.Unlock()
			}
		})
	}
	var asked time.Time
	slowest := time.Duration(0)
	for i := range floods {
		next <- i
		if i%500 == 0 { // the participants in the room
			asked = time.Now()
			require.NoError(t, m.stays["ada"].conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping","time":1}`)))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			for {
				h, err := hear(ctx, m.stays["ada"].conn)
				require.NoError(t, err)
				if h.Type == "pong" {
					break
				}
			}
			cancel()
			slowest = max(slowest, time.Since(asked))
		}
	}
	close(next)
	work.Wait()
	t.Logf("%d in %s: %v; the slowest answer to a participant inside took %s", floods, time.Since(began).Round(time.Millisecond), seen, slowest.Round(time.Millisecond))
	require.Positive(t, seen["429"], "most are refused before the upgrade")
	require.Zero(t, seen["welcome"])
	for what := range seen {
		require.Contains(t, []string{"429", "bye unauthenticated", "bye session_full", "bye rate_limited"}, what)
	}
	until(t, "the server is as it was", func() bool { return m.gauge(t, "go_goroutines") < goroutines+20 })
	t.Logf("goroutines: %v before, %v after; %v MiB in use", goroutines, m.gauge(t, "go_goroutines"), m.gauge(t, "go_memstats_heap_inuse_bytes")/(1<<20))
}

// knock requests admission once and returns the outcome.
func (m *meeting) knock(token string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, strings.Replace(m.s.url, "http", "ws", 1)+"/sfu/?room="+m.room+"&token="+token, nil)
	if resp != nil && resp.StatusCode == http.StatusTooManyRequests {
		return "429"
	}
	if err != nil {
		return err.Error()
	}
	defer conn.CloseNow()
	h, err := hear(ctx, conn)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(h.Type + " " + h.Code)
}

// gauge returns one of the server's metrics.
func (m *meeting) gauge(t testing.TB, name string) (value float64) {
	t.Helper()
	resp, err := (&http.Client{Timeout: patience}).Get(m.s.admin + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	var text strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := resp.Body.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			break
		}
	}
	for line := range strings.Lines(text.String()) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			_, err := fmt.Sscan(rest, &value)
			require.NoError(t, err)
			return value
		}
	}
	t.Fatalf("no %s in the metrics", name)
	return 0
}
