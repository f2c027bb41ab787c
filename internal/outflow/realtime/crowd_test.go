package realtime_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/realtimetest"
)

// crowd subscribes n viewers to a room; heard counts the messages that all of them
// receive.
func crowd(t testing.TB, r *rig, room string, n int) (viewers []*realtimetest.Client, heard *atomic.Int64) {
	t.Helper()
	heard = &atomic.Int64{}
	viewers = make([]*realtimetest.Client, n)
	for i := range n {
		user := fmt.Sprintf("user-%d", i)
		r.gate.who[user] = realtime.Identity{TenantID: "ten_1", Room: room, UserID: user}
		r.gate.set(room+"/"+user, realtime.Participant{State: realtime.Inside, Role: "viewer"})
	}
	var coming sync.WaitGroup
	for i := range n {
		coming.Go(func() {
			viewers[i] = realtimetest.New(t, r.url, realtimetest.Options{
				Token: fmt.Sprintf("user-%d", i), OnPublication: func() { heard.Add(1) },
			})
			viewers[i].Hear(t, room)
			viewers[i].Next(t, realtimetest.Subscribed)
		})
		if i%50 == 49 {
			coming.Wait()
		}
	}
	coming.Wait()
	return viewers, heard
}

// TestAThousandConnections isn't parallel: its clients are in the same process and starve other tests.
func TestAThousandConnections(t *testing.T) {
	const many, messages = 1000, 20
	r := newSoleRig(t, realtime.Config{})
	viewers, heard := crowd(t, r, "str_1", many)
	require.Equal(t, many, r.Stats().Connections)
	for n := range messages {
		r.bid(t, "str_1", n)
	}
	until(t, func() bool { return heard.Load() == many*messages }, "every subscriber receives every message")
	for _, v := range viewers {
		require.Empty(t, only(v.Events(), realtimetest.Disconnected))
	}
	// With 500 subscribers, join messages stop.
	joins := only(viewers[0].Events(), realtimetest.Joined)
	require.Less(t, len(joins), 560)
	_, err := viewers[0].Presence(t.Context(), "room:str_1")
	require.Equal(t, uint32(106), realtimetest.Code(err))
	stats, err := viewers[0].PresenceStats(t.Context(), "room:str_1")
	require.NoError(t, err)
	require.Equal(t, many, stats.NumUsers)
}

// TestAViewerOfACrowdReceivesPublicationsInOneFrame: the 102nd viewer of a room receives publications of 60 ms together, the host
// each at once.
func TestAViewerOfACrowdReceivesPublicationsInOneFrame(t *testing.T) {
	const many, messages = 101, 30
	r := newSoleRig(t, realtime.Config{})
	_, _ = crowd(t, r, "str_1", many)
	frames := map[string]int{}
	for user, role := range map[string]string{"late": "viewer", "ada": "host"} {
		r.gate.who[user] = realtime.Identity{TenantID: "ten_1", Room: "str_1", UserID: user}
		r.gate.set("str_1/"+user, realtime.Participant{State: realtime.Inside, Role: role})
		ws, _, err := websocket.Dial(t.Context(), r.url, nil)
		require.NoError(t, err)
		defer ws.CloseNow()
		hello := fmt.Sprintf(`{"id":1,"connect":{"token":%q}}`, user) + "\n" + `{"id":2,"subscribe":{"channel":"room:str_1"}}`
		require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(hello)))
		read := func() string {
			_, text, err := ws.Read(t.Context())
			require.NoError(t, err)
			return string(text)
		}
		for !strings.Contains(read(), `"id":2`) {
		}
		for n := range messages {
			r.bid(t, "str_1", n)
			<-time.After(5 * time.Millisecond)
		}
		for got := 0; got < messages; frames[user]++ {
			got += strings.Count(read(), `"auction-bid"`)
		}
	}
	require.Less(t, frames["late"], frames["ada"])
}

// BenchmarkFanOut measures chat messages in a room of 1000 on one server. The
// viewers run in the same process and cost little.
func BenchmarkFanOut(b *testing.B) {
	const many = 1000
	for _, burst := range []int{1, 20} {
		b.Run(fmt.Sprintf("burst=%d", burst), func(b *testing.B) { fanOut(b, many, burst) })
	}
}

func fanOut(b *testing.B, many, burst int) {
	b.Helper()
	r := newSoleRig(b, realtime.Config{})
	var heard atomic.Int64
	for range many {
		realtimetest.Count(b, r.url, "key", "str_1", `"offset":`, func(n int) { heard.Add(int64(n)) })
	}
	heard.Store(0)
	data := map[string]any{"id": "msg_01m18qg1mhf2bsz1fk6m8v4jxe", "body": strings.Repeat("x", 200)}
	began, sent := time.Now(), 0
	for b.Loop() {
		for range burst {
			r.Publish(b.Context(), realtime.Publication{Room: "str_1", Type: realtime.ChatMessage, Data: data})
		}
		sent += burst * many
		for heard.Load() < int64(sent)*9/10 {
			time.Sleep(100 * time.Microsecond) //nolint:forbidigo // it must cost nothing
		}
	}
	b.ReportMetric(float64(heard.Load())/time.Since(began).Seconds(), "messages/s")
}
