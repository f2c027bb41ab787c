package chat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/rooms/chat"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestMessagesAreKeptAsLongAsSet: by default forever.
func TestMessagesAreKeptAsLongAsSet(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s := apitest.New(t, apitest.Options{Pool: pool})
	owner := s.Register(t)
	channel := owner.Channel(t, nil)
	owner.Say(t, channel.ID, "ada", "hello").Is(t, 201)
	count := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM channel_messages").Scan(&n))
		return n
	}
	const month = 30 * 24 * time.Hour
	deleteOld := func(keep, later time.Duration) {
		service := chat.New(chat.Config{Pool: pool, KeepMessages: keep, Now: func() time.Time { return time.Now().Add(later) }})
		require.NoError(t, service.DeleteOld(t.Context()))
	}
	deleteOld(0, 1000*month)
	deleteOld(month, month-time.Hour)
	require.Equal(t, 1, count())
	deleteOld(month, month+time.Hour)
	require.Zero(t, count())
	deleteOld(month, month+time.Hour)
	owner.Say(t, channel.ID, "ada", "again").Is(t, 201)
	require.Equal(t, 1, count())
}

// TestPinsOfStreamsAreKeptForAMonth: those of sessions stay as long as their session.
func TestPinsOfStreamsAreKeptForAMonth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	product, st, session := owner.Product(t, nil), owner.Stream(t, nil), owner.Session(t, nil)
	for _, room := range []string{st.ID, session.ID} {
		require.NoError(t, s.Chat.PinProduct(t.Context(), chat.PinInput{TenantID: owner.TenantID, RoomID: room, ProductID: product.ID}))
	}
	rooms := func() (list []string) {
		require.NoError(t, s.Chat.DeleteOld(t.Context()))
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT array_agg(room_id ORDER BY pinned_at, id) FROM product_pins").Scan(&list))
		return list
	}
	s.Clock.Advance(30 * 24 * time.Hour)
	require.Equal(t, []string{st.ID, session.ID}, rooms())
	s.Clock.Advance(time.Second)
	require.Equal(t, []string{session.ID}, rooms())
}

// TestEndedTimeoutsLeaveTheListOfRestrictions: their actions stay, and so do restrictions without an end.
func TestEndedTimeoutsLeaveTheListOfRestrictions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	path := "/v1/me/channels/" + ch.ID + "/moderate/"
	owner.Call(t, "POST", path+"mute", map[string]any{"target": "ben", "by": "ada"}).Is(t, 201)
	owner.Call(t, "POST", path+"timeout", map[string]any{"target": "ben", "by": "ada", "durationSec": 60}).Is(t, 201)
	kinds := func(table string) (list []string) {
		require.NoError(t, s.Chat.DeleteOld(t.Context()))
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT array_agg(kind ORDER BY kind) FROM "+table).Scan(&list))
		return list
	}
	s.Clock.Advance(time.Hour)
	require.Equal(t, []string{"mute", "timeout"}, kinds("channel_restrictions"))
	s.Clock.Advance(2 * time.Minute)
	require.Equal(t, []string{"mute"}, kinds("channel_restrictions"))
	require.Equal(t, []string{"mute", "timeout"}, kinds("channel_moderation"))
	owner.Call(t, "POST", path+"timeout", map[string]any{"target": "ben", "by": "ada", "durationSec": 0}).Is(t, 201)
	require.Equal(t, []string{"mute"}, kinds("channel_restrictions"))
}
