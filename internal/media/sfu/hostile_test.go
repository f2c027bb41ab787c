package sfu_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
)

// unchecked is for clients whose messages don't match the schema.
func unchecked(o *sfutest.Options) { o.Check = nil }

func TestInvalidMessagesGetAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.Messages = 1000 })
	bob := r.join(t, "bob", unchecked)
	long := strings.Repeat("x", 20<<10)
	for _, text := range []string{
		"", "null", "[]", "7", `"offer"`, "{", "{}", `{"type":7}`, `{"type":"x"}`, "\xff\xfe", `{"type":"welcome"}`, `{"type":"offer"}`,
		`{"type":"offer","id":"1","sdp":"v=0","tracks":[]}`, `{"type":"offer","id":-1,"sdp":"v=0","tracks":[]}`,
		`{"type":"offer","id":1,"sdp":"","tracks":[]}`, `{"type":"offer","id":1,"sdp":"v=0","tracks":{}}`, `{"type":"offer","id":1,"sdp":"v=0"}`,
		`{"type":"offer","id":9e99,"sdp":"v=0","tracks":[]}`, `{"type":"answer","id":1}`, `{"type":"answer","id":99,"sdp":"v=0"}`,
		`{"type":"candidate"}`, `{"type":"restart","pc":"both"}`, `{"type":"mute","id":1,"muted":true}`, `{"type":"mute","id":"x"}`,
		`{"type":"view"}`, `{"type":"view","tracks":[{"id":"x","width":-1}]}`, `{"type":"view","tracks":[` + strings.Repeat(`{"id":"x"},`, 300) + `{}]}`,
		`{"type":"data","topic":"x"}`, `{"type":"data","topic":"` + long + `","payload":""}`, `{"type":"data","topic":"","payload":"` + long + `"}`,
		`{"type":"ping"}`, `{"type":"ping","time":"now"}`,
		`{"type":"offer","id":1,"sdp":"garbage","tracks":[]}`, `{"type":"offer","id":1,"sdp":"v=0\r\n","tracks":[]}`,
	} {
		n := len(bob.Messages())
		bob.Send(t, []byte(text))
		bob.ExpectAfter(t, n, "an error for "+text[:min(len(text), 60)], func(m sfutest.Message) bool {
			return m.Type == "error" && m.Code == "bad_message"
		})
	}
	// Messages at the wrong time do no harm.
	for _, text := range []string{
		`{"type":"restart","pc":"subscribe"}`, `{"type":"restart","pc":"publish"}`, `{"type":"candidate","pc":"publish","candidate":{"candidate":"garbage"}}`,
		`{"type":"view","tracks":[{"id":"trk_x","width":1e300,"height":1}]}`, `{"type":"candidate","pc":"subscribe","candidate":null}`,
	} {
		bob.Send(t, []byte(text))
	}
	mic := bob.Publish(t, sfutest.Microphone())[0]
	r.join(t, "ada:host").Hears(t, mic.ID, 5)
}

func TestDescriptionsBeyondAllMeasure(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	bob := r.join(t, "bob")
	good := func(attributes string) string {
		return "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\n" +
			"a=mid:0\r\na=sendonly\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n" + attributes
	}
	section := "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=sendonly\r\na=rtpmap:111 opus/48000/2\r\na=mid:m"
	var many strings.Builder
	for i := range 40 {
		fmt.Fprintf(&many, "%s%d\r\n", section, i)
	}
	candidate := "a=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n"
	for i, sdp := range []string{
		good(strings.Repeat("a=x:y\r\n", 10<<10)), // more than 64 KiB
		good(strings.Repeat(candidate, 1000)),
		good(many.String()),
		good("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n"),
		good("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:1\r\n"),
		good(""), // no ICE and DTLS attributes
		good("a=ice-ufrag:abcd\r\na=ice-pwd:abcdabcdabcdabcdabcdabcd\r\na=fingerprint:sha-256 00\r\na=setup:actpass\r\na=simulcast:send ;;\r\n"),
	} {
		bob.Send(t, map[string]any{"type": "offer", "id": i, "sdp": sdp, "tracks": []any{map[string]any{"mid": "0", "source": "microphone"}}})
		m := bob.Expect(t, fmt.Sprintf("an error for offer %d", i), func(m sfutest.Message) bool { return m.Type == "error" && m.Re == float64(i) })
		require.Equal(t, "bad_message", m.Code)
	}
	for range 100 {
		bob.Send(t, map[string]any{"type": "candidate", "pc": "publish", "candidate": map[string]any{"candidate": candidate}})
	}
	bob.Publish(t, sfutest.Microphone())
	ada := r.join(t, "ada:host")
	ada.Hears(t, ada.ExpectTrack(t, "bob", "microphone").ID, 5)
}

func TestTooMuchOfEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.Packets = 20 })
	ada := r.join(t, "ada:host")
	outputs := ada.Publish(t, sfutest.Microphone(), sfutest.Camera(), sfutest.Camera())
	require.Equal(t, "too_many", outputs[2].Refused.Code)
	eventually(t, "packets are dropped", func() bool { return r.server.Stats().Dropped > 10 })

	bob := r.join(t, "bob")
	for range 300 {
		bob.Send(t, map[string]any{"type": "x-leave"}) // an unknown type
	}
	bob.ExpectBye(t, "rate_limited")

	cat := r.join(t, "cat")
	for range 60 {
		cat.Send(t, map[string]any{"type": "data", "topic": "a", "payload": "b"})
	}
	cat.Expect(t, "data is dropped", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "rate_limited" })

	dan := r.join(t, "dan", unchecked)
	dan.Send(t, []byte(`{"type":"data","topic":"`+strings.Repeat("x", 300<<10)+`"}`))
	dan.ExpectEnd(t)
	dan.Resume(t) // the participant is still there
	dan.Expect(t, "resumed", func(m sfutest.Message) bool { return m.Type == "welcome" && m.Resumed })

	eve := sfutest.Connect(t, r.options(t, "eve", unchecked))
	eve.Expect(t, "welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
	eve.SendBinary(t, []byte{1, 2, 3})
	eve.ExpectBye(t, "bad_message")
}

// TestRestartsAreLimited: each restart costs an offer of all tracks, and the answer to it.
func TestRestartsAreLimited(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	bob := r.join(t, "bob")
	for range 4 {
		bob.Send(t, map[string]any{"type": "restart", "pc": "subscribe"})
	}
	bob.Expect(t, "the fourth is refused", func(m sfutest.Message) bool {
		return m.Type == "error" && m.Code == "rate_limited" && m.Re == "restart"
	})
	bob.Send(t, map[string]any{"type": "ping", "time": 1})
	bob.Expect(t, "the end", func(m sfutest.Message) bool { return m.Type == "pong" })
	refused := 0
	for _, m := range bob.Messages() {
		if m.Type == "error" {
			refused++
		}
	}
	require.Equal(t, 1, refused)
}

func dataTo(payload string, to ...string) map[string]any {
	m := map[string]any{"type": "data", "topic": "x", "payload": payload}
	if len(to) > 0 {
		m["to"] = to
	}
	return m
}

// TestOneMessageToManyCountsForAll: each recipient's outbox keeps a copy of it.
func TestOneMessageToManyCountsForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.DataBytes = 1000 })
	ada, bob := r.join(t, "ada:host"), r.join(t, "bob")
	ada.Send(t, dataTo(strings.Repeat("x", 3000))) // more than the burst, for two recipients
	bob.Expect(t, "the first", func(m sfutest.Message) bool { return m.Type == "data" })
	ada.Send(t, dataTo(strings.Repeat("y", 3000), "bob"))
	ada.Expect(t, "the second is dropped", func(m sfutest.Message) bool { return m.Type == "error" && m.Code == "rate_limited" })
	eventually(t, "there is room again", func() bool {
		ada.Send(t, dataTo("z", "bob", "nobody"))
		heard := bob.Messages()
		return heard[len(heard)-1].Payload == "z"
	})
}

// TestOneSpeakerCantUseUpTheRoomsData: each guest has a share, and moderators have a budget of
// their own.
func TestOneSpeakerCantUseUpTheRoomsData(t *testing.T) {
	t.Parallel()
	var at atomic.Int64
	at.Store(time.Now().UnixNano())
	r := newRig(t, func(c *sfu.Config) {
		c.Limits.DataBytes = 8000
		c.Now = func() time.Time { return time.Unix(0, at.Load()) }
	})
	ada, bob, eve := r.join(t, "ada:host"), r.join(t, "bob"), r.join(t, "eve")
	limited := func(c *sfutest.Client) int {
		n := 0
		for _, m := range c.Messages() {
			if m.Type == "error" && m.Code == "rate_limited" {
				n++
			}
		}
		return n
	}
	for range 30 {
		eve.Send(t, dataTo(strings.Repeat("x", 900), "bob"))
	}
	eventually(t, "eve's share is used up", func() bool { return limited(eve) == 26 })
	// A new connection gets no new share.
	eve = r.join(t, "eve")
	eve.Send(t, dataTo(strings.Repeat("x", 900), "bob"))
	eventually(t, "it is used up still", func() bool { return limited(eve) == 1 })
	// A user who leaves and comes back gets no new share either.
	eve.Send(t, map[string]any{"type": "leave"})
	ada.Expect(t, "eve has left", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "eve" })
	eve = r.join(t, "eve")
	eve.Send(t, dataTo(strings.Repeat("x", 900), "bob"))
	eventually(t, "it is used up still", func() bool { return limited(eve) == 1 })

	bob.Send(t, dataTo("from bob", "ada"))
	ada.Expect(t, "bob's message", func(m sfutest.Message) bool { return m.Type == "data" && m.Payload == "from bob" })
	for i := range 7 {
		guest := r.join(t, fmt.Sprintf("guest%d", i))
		for range 5 {
			guest.Send(t, dataTo(strings.Repeat("x", 900), "bob"))
		}
		eventually(t, "the share is used up", func() bool { return limited(guest) > 0 })
	}
	ada.Send(t, dataTo("from ada", "bob"))
	bob.Expect(t, "the host's message", func(m sfutest.Message) bool { return m.Type == "data" && m.Payload == "from ada" })
	require.Zero(t, limited(ada))
}

func TestASlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) {
		c.Limits.Data, c.Limits.DataBytes, c.Limits.Messages = 1_000_000, 1<<40, 1_000_000
	})
	ada := r.join(t, "ada:host", unchecked)
	conn, _, err := websocket.Dial(t.Context(), r.url+"/?token=bob&room=sess_1", nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	ada.Expect(t, "bob", func(m sfutest.Message) bool { return m.Type == "participant" && m.Participant.UserID == "bob" })
	load := map[string]any{"type": "data", "topic": "x", "payload": strings.Repeat("x", 16<<10)}
	for range 20_000 {
		ada.Send(t, load)
		if r.server.Stats().Refused["slow"] > 0 {
			break
		}
	}
	require.Equal(t, uint64(1), r.server.Stats().Refused["slow"])
	ada.Expect(t, "bob is gone", func(m sfutest.Message) bool { return m.Type == "left" && m.UserID == "bob" && m.Reason == "slow" })
}

// knock opens n sockets at once, with a token for each number, and returns how many were upgraded.
// All others were refused with 429.
func knock(t *testing.T, r *rig, n int, query string) (upgraded int64) {
	t.Helper()
	var let, refused atomic.Int64
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			conn, response, err := websocket.Dial(context.Background(), r.url+"/?"+fmt.Sprintf(query, i), nil)
			if err == nil {
				let.Add(1)
				conn.CloseNow()
				return
			}
			if response != nil && response.StatusCode == http.StatusTooManyRequests && response.Header.Get("Retry-After") != "" {
				refused.Add(1)
			}
		})
	}
	work.Wait()
	require.Equal(t, int64(n), let.Load()+refused.Load())
	return let.Load()
}

func TestACrowdAtTheDoorIsRefusedInGoodOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *sfu.Config) { c.Limits.RoomJoins = 5 })
	let := knock(t, r, 200, "token=u%d&room=sess_1")
	require.Less(t, let, int64(60))
	require.Equal(t, uint64(200-let), r.server.Stats().Refused["flood"])
}

// TestBadTokensUseUpNothing: unauthenticated clients can't keep those with a good token out,
// whether from the same address or by naming the same room.
func TestBadTokensUseUpNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, func(c *sfu.Config) {
		c.Limits.RoomJoins, c.Limits.AddressJoins = 5, 100
		c.Now = func() time.Time { return now }
	})
	require.Equal(t, int64(20), knock(t, r, 200, "token=bad%d&room=sess_1"), "as many bad tokens as an address may have")
	// A token for another room is not charged to this one.
	knock(t, r, 20, "token=u%d@sess_2&room=sess_1")
	sfutest.Connect(t, r.options(t, "bob")).Expect(t, "welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
	again := sfutest.Connect(t, r.options(t, "cat"))
	again.Expect(t, "welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
}

// TestAResumeThatFailsIsAJoin: a valid resume secret doesn't admit a token that was not checked and
// charged.
func TestAResumeThatFailsIsAJoin(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, func(c *sfu.Config) {
		c.Limits.RoomJoins = 1
		c.Now = func() time.Time { return now }
	})
	bob := r.join(t, "bob")
	secret := welcomes(bob.Messages())[0].Resume
	// The second of the two joins that are allowed in this second.
	sfutest.Connect(t, r.options(t, "cat")).Expect(t, "welcome", func(m sfutest.Message) bool { return m.Type == "welcome" })
	for _, after := range []string{"x", "", "99999"} {
		for i := range 100 {
			token := []string{"bad", "dan"}[i%2]
			conn, response, err := websocket.Dial(t.Context(), fmt.Sprintf("%s/?room=sess_1&resume=%s&after=%s&token=%s%d", r.url, secret, after, token, i), nil)
			if err != nil {
				require.Equal(t, http.StatusTooManyRequests, response.StatusCode)
				continue
			}
			_, data, err := conn.Read(t.Context())
			require.NoError(t, err)
			require.Contains(t, string(data), `"bye"`)
			conn.CloseNow()
		}
	}
	refused := r.server.Stats().Refused
	require.Equal(t, uint64(20), refused["unauthenticated"], "as many bad tokens as an address may have")
	require.Equal(t, uint64(2), r.server.Stats().Accepted)
}

func TestABadTokenGetsAReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	sfutest.Connect(t, r.options(t, "bad")).ExpectBye(t, "unauthenticated")
	sfutest.Connect(t, r.options(t, strings.Repeat("long", 5000))).ExpectBye(t, "unauthenticated")
}

func TestJoinsAndLeavesLeaveNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ada := r.join(t, "ada:host", unchecked)
	ada.Publish(t, sfutest.Microphone(), sfutest.Camera())
	const each, lanes = 125, 8
	var work sync.WaitGroup
	for lane := range lanes {
		work.Go(func() {
			for i := range each {
				c := sfutest.Join(t, r.options(t, fmt.Sprintf("u%d-%d:viewer", lane, i), func(o *sfutest.Options) { o.Deaf, o.Check = true, nil }))
				c.Expect(t, "an offer", func(m sfutest.Message) bool { return m.Type == "offer" })
				if i%2 == 0 {
					c.Send(t, map[string]any{"type": "leave"})
					c.ExpectEnd(t)
				} else {
					r.change("sess_1", fmt.Sprintf("u%d-%d", lane, i), func(g *sfu.Grant) { g.Gone = "kicked" })
					c.ExpectBye(t, "kicked")
				}
			}
		})
	}
	work.Wait()
	eventually(t, "all have left", func() bool { return len(r.left()) == each*lanes })
	// A connection counts until its goroutine ends, which is after its member has left.
	eventually(t, "no connection is left but ada's", func() bool { return r.server.Stats().Participants == 1 })
}
