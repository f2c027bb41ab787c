package e2e

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres/embedded"
)

// TestTheDatabaseOfARoomIsStartedAgain checks that participants stay connected while
// the database restarts, and that later decisions take effect at once, as before.
func TestTheDatabaseOfARoomIsStartedAgain(t *testing.T) {
	t.Parallel()
	options := embedded.Options{Dir: dataDir(t), BinDir: os.Getenv("PG_BIN"), Fast: true, Log: slog.New(slog.DiscardHandler)}
	database, err := embedded.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, database.Stop(context.Background())) })
	s := serve(t, set("DATABASE_URL", database.ConnString()), set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"))
	m := newMeeting(t, s, 1, 50)
	inside := map[string]*websocket.Conn{}
	for _, user := range []string{"ada", "ben", "cara"} {
		token, _ := m.token(user)
		conn, first := m.dial(m.room, token)
		require.Equal(t, "welcome", first.Type, first.Code)
		defer conn.CloseNow()
		inside[user] = conn
	}
	// hears waits for a "bye" with this code or, if code is "", for the answer to a
	// ping. Any other "bye" fails the test.
	hears := func(user, code string) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if code == "" {
			require.NoError(t, inside[user].Write(ctx, websocket.MessageText, []byte(`{"type":"ping","time":1}`)))
		}
		for {
			h, err := hear(ctx, inside[user])
			require.NoError(t, err, user)
			if h.Type == "bye" || h.Type == "pong" && code == "" {
				require.Equal(t, code, h.Code, user)
				return
			}
		}
	}

	require.NoError(t, database.Stop(t.Context()))
	began := time.Now()
	status, problem := m.try("POST", "/v1/me/sessions/"+m.room+"/token", map[string]any{"userId": "dan"})
	require.Equal(t, 503, status)
	require.Equal(t, "database_unavailable", problem["code"])
	t.Logf("a request during the outage was answered after %s", time.Since(began).Round(time.Millisecond))
	for range 3 { // long enough for the reconnect attempts to reach their longest pauses
		pause(t, 2*time.Second)
		for user := range inside {
			hears(user, "")
		}
	}
	database, err = embedded.Start(t.Context(), options)
	require.NoError(t, err)
	for _, user := range []string{"ben", "cara"} {
		status, answer := m.insist("DELETE", "/v1/me/sessions/"+m.room+"/participants/"+user, nil)
		require.Equal(t, 200, status, "%v", answer)
		began := time.Now()
		hears(user, "kicked")
		t.Logf("%s is disconnected after %s", user, time.Since(began).Round(time.Millisecond))
		require.Equal(t, "kicked", m.bye(m.tokens[user]))
	}
	hears("ada", "")
	token, status := m.token("dan")
	require.Equal(t, 201, status)
	conn, first := m.dial(m.room, token)
	require.Equal(t, "welcome", first.Type, first.Code)
	defer conn.CloseNow()
}
