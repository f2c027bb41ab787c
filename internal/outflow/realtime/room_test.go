package realtime_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/centrifugal/centrifuge-go"
	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/realtimetest"
)

// bid publishes a message that the history keeps.
func (r *rig) bid(t testing.TB, room string, n int) {
	t.Helper()
	r.Publish(t.Context(), realtime.Publication{Room: room, Type: realtime.AuctionBid, Data: map[string]any{"n": n}})
}

func TestRoomsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	for _, at := range []struct {
		token, room string
		code        uint32
	}{
		{"ada", "ses_2", 103}, {"ada", "ses_9", 103}, {"ada", "str_1", 103}, {"key", "ses_9", 103},
	} {
		c := realtimetest.New(t, r.url, realtimetest.Options{Token: at.token})
		c.Hear(t, at.room)
		e := c.Next(t, realtimetest.Unsubscribed)
		require.Equal(t, at.code, e.Code, "%+v", at)
		require.Equal(t, "permission denied", e.Reason)
	}
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "key"})
	for _, channel := range []string{"room:", "ses_1", "#1", "room"} {
		s, err := c.NewSubscription(channel)
		require.NoError(t, err)
		refused := make(chan uint32, 1)
		s.OnUnsubscribed(func(e centrifuge.UnsubscribedEvent) { refused <- e.Code })
		require.NoError(t, s.Subscribe())
		require.Equal(t, uint32(102), <-refused, channel)
	}
	require.Empty(t, only(c.Events(), realtimetest.Disconnected))
}

func TestAReconnectingClientGetsMissedPublicationsInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c := r.watch(t, "ada", "ses_1")
	c.Next(t, realtimetest.Connecting)
	r.bid(t, "ses_1", 0)
	require.EqualValues(t, 0, c.Next(t, realtimetest.Published).Data["n"])
	// The gate is unavailable, so that the client can't reconnect until the test
	// permits it.
	r.gate.setAway(true)
	c.Drop()
	c.Next(t, realtimetest.Connecting)
	other := r.Stats().Publications
	for n := 1; n <= 300; n++ {
		r.bid(t, "ses_1", n)
	}
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.Heart, Data: map[string]any{"count": 1}})
	until(t, func() bool { return r.Stats().Publications >= other+301 }, "all are published") // the first bid may be counted late
	r.gate.setAway(false)
	for n := 1; n <= 300; n++ {
		require.EqualValues(t, n, c.Next(t, realtimetest.Published).Data["n"])
	}
	subscribed := only(c.Events(), realtimetest.Subscribed)
	require.True(t, subscribed[len(subscribed)-1].Recovered)
	r.bid(t, "ses_1", 301)
	require.EqualValues(t, 301, c.Next(t, realtimetest.Published).Data["n"], "the heart was of its moment")
}

func TestAClientThatMissedTooMuchIsNotified(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c := r.watch(t, "ada", "ses_1")
	c.Next(t, realtimetest.Connecting)
	r.bid(t, "ses_1", 0)
	c.Next(t, realtimetest.Published)
	r.gate.setAway(true)
	c.Drop()
	c.Next(t, realtimetest.Connecting)
	before := r.Stats().Publications
	for range 20 {
		r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.ChatMessage, Data: strings.Repeat("x", 100_000)})
	}
	until(t, func() bool { return r.Stats().Publications >= before+20 }, "all are published") // the first bid may be counted late
	r.gate.setAway(false)
	require.False(t, c.Next(t, realtimetest.Subscribed).Recovered)
	r.bid(t, "ses_1", 1)
	require.EqualValues(t, 1, c.Next(t, realtimetest.Published).Data["n"])
}

func TestASlowClientIsDroppedAndRecovers(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	pipe := realtimetest.NewPipe()
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "ada", Dial: pipe.Dial})
	quick := r.watch(t, "bo", "ses_1")
	c.Hear(t, "ses_1")
	c.Next(t, realtimetest.Subscribed)
	c.Next(t, realtimetest.Connecting)
	r.bid(t, "ses_1", 0)
	c.Next(t, realtimetest.Published)
	pipe.Freeze(t)
	n := 0
	until(t, func() bool {
		for range 50 {
			n++
			r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.ChatMessage, Data: map[string]any{"n": n, "text": strings.Repeat("x", 20_000)}})
		}
		quick.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool { return e.Data["n"] == float64(n) })
		return r.Stats().Connections == 1
	}, "it is disconnected, and delays no other subscriber")
	pipe.Thaw()
	c.Next(t, realtimetest.Connecting)
	c.Next(t, realtimetest.Subscribed)
	r.bid(t, "ses_1", n+1)
	c.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool { return e.Data["n"] == float64(n+1) })
}

func TestAWaitingParticipantIsAdmittedLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Waiting})
	c := realtimetest.New(t, r.url, realtimetest.Options{Token: "bo"})
	c.Hear(t, "ses_1")
	e := c.Next(t, realtimetest.Refused)
	require.Equal(t, "425: waiting to be admitted", fmt.Sprintf("%d: %s", e.Code, e.Reason))
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Inside})
	c.Next(t, realtimetest.Subscribed)
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Waiting})
	r.RoomChanged(t.Context(), "ses_1", "bo")
	require.Equal(t, uint32(2101), c.Next(t, realtimetest.Unsubscribed).Code)
}

func TestAKickEndsAllConnectionsAtOnceAndPermanently(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{CheckEvery: 1 << 40})
	phone, laptop, other := r.watch(t, "bo", "ses_1"), r.watch(t, "bo", "ses_1"), r.watch(t, "ada", "ses_1")
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Kicked})
	r.RoomChanged(t.Context(), "ses_1", "bo")
	require.Equal(t, uint32(4500), phone.Next(t, realtimetest.Disconnected).Code)
	require.Equal(t, uint32(4500), laptop.Next(t, realtimetest.Disconnected).Code)
	again := realtimetest.New(t, r.url, realtimetest.Options{Token: "bo"})
	require.Equal(t, uint32(4500), again.Next(t, realtimetest.Disconnected).Code)
	require.Empty(t, only(other.Events(), realtimetest.Disconnected))
}

func TestTheEndOfASessionIsTheLastPublication(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{CheckEvery: 1 << 40})
	ada, bo, key := r.watch(t, "ada", "ses_1"), r.watch(t, "bo", "ses_1"), r.watch(t, "key", "ses_1")
	// Bo is disconnected when the session ends, and reconnects later.
	bo.Next(t, realtimetest.Connecting)
	r.gate.setAway(true)
	bo.Drop()
	bo.Next(t, realtimetest.Connecting)
	for _, user := range []string{"ada", "bo"} {
		r.gate.set("ses_1/"+user, realtime.Participant{State: realtime.Ended})
	}
	r.RoomChanged(t.Context(), "ses_1", "")
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.SessionEnded, Data: map[string]any{}})
	require.Equal(t, realtime.SessionEnded, ada.Next(t, realtimetest.Published).Type)
	require.Equal(t, uint32(2100), ada.Next(t, realtimetest.Unsubscribed).Code)
	r.gate.setAway(false)
	require.Equal(t, realtime.SessionEnded, bo.Next(t, realtimetest.Published).Type)
	require.Equal(t, uint32(2100), bo.Next(t, realtimetest.Unsubscribed).Code)
	r.Publish(t.Context(), realtime.Publication{Room: "ses_1", Type: realtime.SessionSummaryReady, Data: map[string]any{}})
	require.Equal(t, realtime.SessionSummaryReady, key.NextType(t, realtime.SessionSummaryReady).Type, "the tenant hears on")
}

func TestASessionWhoseEndWasNotPublishedEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c := r.watch(t, "ada", "ses_1")
	r.gate.set("ses_1/ada", realtime.Participant{State: realtime.Ended})
	r.RoomChanged(t.Context(), "ses_1", "ada")
	require.Equal(t, uint32(2100), c.Next(t, realtimetest.Unsubscribed).Code)
}

func TestPresence(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	ada, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	require.JSONEq(t, `{"userId":"ada","displayName":"Ada","role":"host"}`, ada.Next(t, realtimetest.Joined).Info, "itself")
	key, keyHears := realtimetest.Watch(t, r.url, "key", "ses_1")
	bo := r.watch(t, "bo", "ses_1")
	e := ada.Next(t, realtimetest.Joined)
	require.Equal(t, "bo", e.User)
	require.JSONEq(t, `{"userId":"bo","displayName":"Bo","role":"guest"}`, e.Info)
	r.gate.set("ses_1/bo", realtime.Participant{State: realtime.Inside, DisplayName: "Bo", Role: "cohost"})
	found, err := keyHears.Presence(t.Context())
	require.NoError(t, err)
	infos := map[string]string{}
	for _, one := range found.Clients {
		infos[one.User] = string(one.ChanInfo)
		require.Empty(t, one.ConnInfo)
	}
	require.Len(t, infos, 2, "the tenant's own connections aren't shown")
	require.JSONEq(t, `{"userId":"bo","displayName":"Bo","role":"cohost"}`, infos["bo"], "as it is now")
	stats, err := hears.PresenceStats(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, stats.NumClients)
	bo.Close()
	require.Equal(t, "bo", ada.Next(t, realtimetest.Left).User)
	require.Equal(t, "bo", key.Next(t, realtimetest.Left).User)
	_, err = ada.Presence(t.Context(), "room:ses_2")
	require.Equal(t, uint32(103), realtimetest.Code(err))
	_, err = ada.History(t.Context(), "room:ses_2")
	require.Equal(t, uint32(103), realtimetest.Code(err))
	_, err = ada.PresenceStats(t.Context(), "room:ses_2")
	require.Equal(t, uint32(103), realtimetest.Code(err))
}

func TestHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	for n := range 5 {
		r.bid(t, "ses_1", n)
	}
	c.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool { return e.Data["n"] == 4.0 })
	found, err := hears.History(t.Context(), centrifuge.WithHistoryLimit(3), centrifuge.WithHistoryReverse(true))
	require.NoError(t, err)
	require.Len(t, found.Publications, 3)
	require.JSONEq(t, `{"type":"auction-bid","data":{"n":4}}`, string(found.Publications[0].Data))
}

func TestHeartsOfAllViewersAreMerged(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	ada, adaHears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	_, keyHears := realtimetest.Watch(t, r.url, "key", "ses_1")
	for range 5 {
		for _, s := range []*centrifuge.Subscription{adaHears, keyHears} {
			_, err := s.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":3}}`))
			require.NoError(t, err)
		}
	}
	total := 0
	for total < 30 {
		e := ada.Next(t, realtimetest.Published)
		require.Equal(t, realtime.Heart, e.Type)
		require.Zero(t, e.Offset, "hearts aren't kept")
		count, _ := e.Data["count"].(float64)
		total += int(count)
	}
	require.Equal(t, 30, total)
	require.Less(t, len(only(ada.Events(), realtimetest.Published)), 10, "they are merged")
}

func TestOneClientCantSendAMillionHearts(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	_, err := hears.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":1000000}}`))
	require.NoError(t, err)
	require.EqualValues(t, 100, c.Next(t, realtimetest.Published).Data["count"])
}

func TestPins(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	_, host := realtimetest.Watch(t, r.url, "ada", "ses_1")
	_, guest := realtimetest.Watch(t, r.url, "bo", "ses_1")
	_, key := realtimetest.Watch(t, r.url, "key", "ses_1")
	_, err := host.Publish(t.Context(), []byte(`{"type":"prod-pin","data":{"id":"prod_1"}}`))
	require.NoError(t, err)
	require.Equal(t, []string{"prod_1"}, r.gate.pins)
	for _, s := range []*centrifuge.Subscription{guest, key} {
		_, err = s.Publish(t.Context(), []byte(`{"type":"prod-pin","data":{"id":"prod_2"}}`))
		require.Equal(t, uint32(103), realtimetest.Code(err))
		require.ErrorContains(t, err, "only the host")
	}
}

func TestAllElseThatClientsPublishIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	for data, code := range map[string]uint32{
		`{"type":"chat.message","data":{"body":"hi"}}`: 103,
		`{"type":"session.ended","data":{}}`:           103,
		`{"type":"stock-tick","data":{"remaining":0}}`: 103,
		`{}`:                                  103,
		`"hi"`:                                107,
		`{"type":"heart"}`:                    107,
		`{"type":"heart","data":{"count":0}}`: 107,
		`{"type":"heart","data":{"count":1000001}}`: 107,
		`{"type":"heart","data":{"count":"many"}}`:  107,
		`{"type":"prod-pin","data":{}}`:             107,
		`{"type":"prod-pin","data":{"id":7}}`:       107,
		`{"type":"prod-pin","data":["prod_1"]}`:     107,
		`{"type":"HEART","data":{"count":1}}`:       103,
		`{"type":"heart","data":{"count":1.5}}`:     107,
		`{"type":"heart","data":{"count":-1}}`:      107,
	} {
		_, err := hears.Publish(t.Context(), json.RawMessage(data))
		require.Equal(t, code, realtimetest.Code(err), "%s: %v", data, err)
	}
	_, err := c.Publish(t.Context(), "room:ses_2", []byte(`{"type":"heart","data":{"count":1}}`))
	require.Equal(t, uint32(103), realtimetest.Code(err))
	_, err = c.RPC(t.Context(), "anything", nil)
	require.Equal(t, uint32(104), realtimetest.Code(err))
	require.Empty(t, only(c.Events(), realtimetest.Published))
}

func TestAClientThatPublishesTooOftenIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	_, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	for {
		_, err := hears.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":1}}`))
		if err != nil {
			require.Equal(t, uint32(111), realtimetest.Code(err))
			return
		}
	}
}

// TestAClientThatAsksTooOftenIsDisconnected sends one command at a time, on a
// socket without a client library: commands that are on their way when the server
// closes can hide the close code.
func TestAClientThatAsksTooOftenIsDisconnected(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	conn, answer, err := websocket.Dial(t.Context(), r.url, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	defer func() { _ = conn.CloseNow() }()
	ask := func(command string) error {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(command)); err != nil {
			return err
		}
		_, _, err := conn.Read(t.Context())
		return err
	}
	require.NoError(t, ask(`{"id":1,"connect":{"token":"key"}}`))
	require.NoError(t, ask(`{"id":2,"subscribe":{"channel":"room:ses_1"}}`))
	for n := 3; err == nil; n++ {
		err = ask(fmt.Sprintf(`{"id":%d,"presence_stats":{"channel":"room:ses_1"}}`, n))
	}
	require.Equal(t, websocket.StatusCode(3013), websocket.CloseStatus(err), "%v", err)
}

func TestAMessageThatIsTooLongEndsTheConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, realtime.Config{})
	c, hears := realtimetest.Watch(t, r.url, "ada", "ses_1")
	c.Next(t, realtimetest.Connecting)
	go func() { _, _ = hears.Publish(t.Context(), []byte(`"`+strings.Repeat("x", 70_000)+`"`)) }()
	c.Next(t, realtimetest.Connecting)
}
