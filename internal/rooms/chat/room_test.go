package chat_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// tries holds every operation of a participant in a channel, by name.
func (r *rig) tries(c tenancy.Caller, channelID string, own, others db.ChannelMessage) map[string]func(ctx context.Context) error {
	s, by := r.s.Chat, c.Participant.UserID
	restrict := chat.Restriction{Target: "tom", By: by}
	return map[string]func(ctx context.Context) error{
		"read": func(ctx context.Context) error {
			_, err := s.ListChannelMessages(ctx, c, channelID, chat.Place{}, chat.Place{}, 1)
			return err
		},
		"write": func(ctx context.Context) error {
			_, err := s.SendChannelMessage(ctx, c, channelID, message(by, "x"))
			return err
		},
		"edit own": func(ctx context.Context) error {
			_, err := s.EditChannelMessage(ctx, c, channelID, own.ID, chat.Patch{Body: "y"})
			return err
		},
		"edit others'": func(ctx context.Context) error {
			_, err := s.EditChannelMessage(ctx, c, channelID, others.ID, chat.Patch{Body: "y"})
			return err
		},
		"delete own": func(ctx context.Context) error {
			_, err := s.DeleteChannelMessage(ctx, c, channelID, own.ID, nil)
			return err
		},
		"delete others'": func(ctx context.Context) error {
			_, err := s.DeleteChannelMessage(ctx, c, channelID, others.ID, &by)
			return err
		},
		"timeout": func(ctx context.Context) error {
			_, err := s.TimeoutChannelMember(ctx, c, channelID, restrict, time.Second)
			return err
		},
		"mute": func(ctx context.Context) error {
			_, err := s.MuteChannelMember(ctx, c, channelID, restrict)
			return err
		},
		"ban": func(ctx context.Context) error {
			_, err := s.BanChannelMember(ctx, c, channelID, restrict)
			return err
		},
		"slow": func(ctx context.Context) error {
			_, err := s.SetChannelSlowmode(ctx, c, channelID, by, 0, nil)
			return err
		},
	}
}

// code is the code of a problem, or the text of any other error.
func code(err error) string {
	if p, ok := problem.As(err); ok {
		return p.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestPermissionsOfAParticipant checks a participant's permissions in its room's chat,
// for each role and state.
func TestPermissionsOfAParticipant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := []string{"read", "write", "edit own", "edit others'", "delete own", "delete others'", "timeout", "mute", "ban", "slow"}
	moderators := map[string]string{"edit others'": "forbidden"}
	plain := map[string]string{
		"edit others'": "forbidden", "delete others'": "forbidden", "timeout": "forbidden", "mute": "forbidden", "ban": "forbidden", "slow": "forbidden",
	}
	silent := func(code string) map[string]string {
		codes := map[string]string{"write": code, "edit own": code}
		maps.Copy(codes, plain)
		return codes
	}
	nothing := func(code string) map[string]string {
		codes := map[string]string{}
		for _, what := range all {
			codes[what] = code
		}
		return codes
	}
	restriction := chat.Restriction{Target: "ada", By: "zoe"}
	for _, c := range []struct {
		name, role, state string
		also              func(ctx context.Context, channelID string) error
		want              map[string]string
	}{
		{"host", session.Host, session.Joined, nil, moderators},
		{"cohost", session.Cohost, session.Joined, nil, moderators},
		{"guest", session.Guest, session.Joined, nil, plain},
		{"viewer", session.Viewer, session.Joined, nil, plain},
		{"guest who isn't connected", session.Guest, session.Invited, nil, plain},
		{"guest who lost the connection", session.Guest, session.Left, nil, plain},
		{"waiting", session.Guest, session.Waiting, nil, nothing("forbidden")},
		{"waiting cohost", session.Cohost, session.Waiting, nil, nothing("forbidden")},
		{"kicked", session.Guest, session.Kicked, nil, nothing("forbidden")},
		{"kicked cohost", session.Cohost, session.Kicked, nil, nothing("forbidden")},
		{"unknown", "", "", nil, nothing("forbidden")},
		{"banned", session.Guest, session.Joined, func(ctx context.Context, channelID string) error {
			_, err := r.s.Chat.BanChannelMember(ctx, r.caller, channelID, restriction)
			return err
		}, nothing("banned")},
		{"muted", session.Guest, session.Joined, func(ctx context.Context, channelID string) error {
			_, err := r.s.Chat.MuteChannelMember(ctx, r.caller, channelID, restriction)
			return err
		}, silent("muted")},
		{"timed out", session.Guest, session.Joined, func(ctx context.Context, channelID string) error {
			_, err := r.s.Chat.TimeoutChannelMember(ctx, r.caller, channelID, restriction, time.Hour)
			return err
		}, silent("timed_out")},
		{"cohost of the chat", session.Viewer, session.Joined, func(ctx context.Context, channelID string) error {
			_, err := r.s.Chat.JoinChannel(ctx, r.caller, channelID, "ada", new(session.Cohost))
			return err
		}, moderators},
		{"cohost of the chat who was kicked", session.Viewer, session.Kicked, func(ctx context.Context, channelID string) error {
			_, err := r.s.Chat.JoinChannel(ctx, r.caller, channelID, "ada", new(session.Cohost))
			return err
		}, nothing("forbidden")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, room := range []string{r.owner.Stream(t, nil).ID, r.owner.Session(t, map[string]any{"hostId": "zoe"}).ID} {
				own, err := r.say(t, 0, room, "ada", "own")
				require.NoError(t, err)
				others, err := r.say(t, 0, room, "tom", "others'")
				require.NoError(t, err)
				if c.role != "" {
					r.in(t, room, "ada", c.role, c.state)
				}
				if c.also != nil {
					require.NoError(t, c.also(t.Context(), room))
				}
				tries := r.tries(r.as(room, "ada"), room, own, others)
				for _, what := range all {
					require.Equal(t, c.want[what], code(tries[what](t.Context())), what)
				}
			}
		})
	}
}

// TestAParticipantIsInItsRoomAlone: other channels give not_found, and a
// participant can't act as another user.
func TestAParticipantIsInItsRoomAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room, ch := r.owner.Session(t, nil).ID, r.owner.Channel(t, nil).ID
	r.in(t, room, "ada", session.Host, session.Joined)
	c := r.as(room, "ada")
	for _, elsewhere := range []string{ch, r.owner.Stream(t, nil).ID, "chan_none"} {
		for what, try := range r.tries(c, elsewhere, db.ChannelMessage{ID: "msg_1"}, db.ChannelMessage{ID: "msg_2"}) {
			require.EqualError(t, try(t.Context()), "channel not found", what)
		}
		_, err := r.s.Chat.SendStreamMessage(t.Context(), c, elsewhere, message("ada", "x"))
		require.EqualError(t, err, "stream not found")
	}
	_, err := r.s.Chat.SendChannelMessage(t.Context(), c, room, message("ben", "x"))
	refused(t, err, "forbidden")
	as := chat.Restriction{Target: "tom", By: "ben"}
	_, err = r.s.Chat.BanChannelMember(t.Context(), c, room, as)
	refused(t, err, "forbidden")
	_, err = r.s.Chat.MuteChannelMember(t.Context(), c, room, as)
	refused(t, err, "forbidden")
	_, err = r.s.Chat.TimeoutChannelMember(t.Context(), c, room, as, time.Minute)
	refused(t, err, "forbidden")
	_, err = r.s.Chat.SetChannelSlowmode(t.Context(), c, room, "ben", 1, nil)
	refused(t, err, "forbidden")
	m, err := r.s.Chat.SendChannelMessage(t.Context(), c, room, chat.Input{Body: "x", AuthorID: "ada", AuthorName: "The Boss"})
	require.NoError(t, err)
	require.Equal(t, "ADA", m.AuthorName, "by its own name")
	_, err = r.s.Chat.DeleteChannelMessage(t.Context(), c, room, m.ID, new("ben"))
	refused(t, err, "forbidden")
	m, err = r.s.Chat.DeleteChannelMessage(t.Context(), c, room, m.ID, nil)
	require.NoError(t, err)
	require.Equal(t, "ada", *m.RedactedBy)
}

// TestAKickedUserCannotWriteThroughTheTenant: the tenant's server can't post as a
// user who waits or was kicked.
func TestAKickedUserCannotWriteThroughTheTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.owner.Session(t, nil).ID
	for state, code := range map[string]string{session.Waiting: "forbidden", session.Kicked: "forbidden", session.Joined: "", session.Left: ""} {
		r.in(t, room, "ben", session.Guest, state)
		_, err := r.say(t, 0, room, "ben", "x")
		if code == "" {
			require.NoError(t, err)
			continue
		}
		refused(t, err, code)
	}
}

// TestASessionsChatEndsWithIt: existing messages stay and can be deleted.
func TestASessionsChatEndsWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.owner.Session(t, nil).ID
	r.in(t, room, "ben", session.Guest, session.Joined)
	own, err := r.say(t, 0, room, "ben", "x")
	require.NoError(t, err)
	r.owner.Call(t, "POST", "/v1/me/sessions/"+room+"/end", nil).Is(t, 201)
	_, err = r.say(t, 0, room, "ben", "y")
	refused(t, err, "conflict")
	_, err = r.s.Chat.SendChannelMessage(t.Context(), r.as(room, "ben"), room, message("ben", "y"))
	refused(t, err, "conflict")
	_, err = r.s.Chat.EditChannelMessage(t.Context(), r.as(room, "ben"), room, own.ID, chat.Patch{Body: "y"})
	refused(t, err, "conflict")
	list, err := r.s.Chat.ListChannelMessages(t.Context(), r.as(room, "ben"), room, chat.Place{}, chat.Place{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = r.s.Chat.EditChannelMessage(t.Context(), r.caller, room, own.ID, chat.Patch{Body: "y"})
	require.NoError(t, err, "a tenant's own server may still correct it")
	_, err = r.s.Chat.DeleteChannelMessage(t.Context(), r.as(room, "ben"), room, own.ID, nil)
	require.NoError(t, err)
}

// TestParticipantsAreMembers: without a member row and without an event.
func TestParticipantsAreMembers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.owner.Session(t, map[string]any{"name": "Planning", "projectId": "launch"}).ID
	members := func() (list []string) {
		t.Helper()
		all, _, err := r.s.Chat.ListChannelMembers(t.Context(), r.caller, room, chat.Joined{}, 100)
		require.NoError(t, err)
		for _, m := range all {
			list = append(list, m.UserID+" "+m.Role)
		}
		v, err := r.s.Chat.GetChannel(t.Context(), r.caller, room)
		require.NoError(t, err)
		require.Equal(t, []any{chat.Session, "Planning", "launch", len(list)}, []any{v.Kind, v.Name, *v.ProjectID, int(v.MemberCount)})
		return list
	}
	r.in(t, room, "ben", session.Guest, session.Joined)
	r.in(t, room, "cyd", session.Viewer, session.Joined)
	r.in(t, room, "dan", session.Guest, session.Waiting)
	require.Equal(t, []string{"ben guest", "cyd viewer"}, members())
	_, err := r.s.Chat.LeaveChannel(t.Context(), r.caller, room, "ben")
	refused(t, err, "conflict")
	// The role in the chat is higher than the one in the room, and outlasts it.
	m, err := r.s.Chat.JoinChannel(t.Context(), r.caller, room, "cyd", new(session.Cohost))
	require.NoError(t, err)
	require.Equal(t, session.Cohost, m.Role)
	m, err = r.s.Chat.JoinChannel(t.Context(), r.caller, room, "ben", nil)
	require.NoError(t, err)
	require.Equal(t, session.Guest, m.Role)
	require.Empty(t, r.events(t, room), "they were members before")
	r.in(t, room, "cyd", session.Viewer, session.Left)
	require.Equal(t, []string{"ben guest", "cyd cohost"}, members())
	_, err = r.s.Chat.LeaveChannel(t.Context(), r.caller, room, "cyd")
	require.NoError(t, err)
	require.Equal(t, []string{"ben guest"}, members())
	_, err = r.s.Chat.BanChannelMember(t.Context(), r.caller, room, chat.Restriction{Target: "ben", By: "ada"})
	require.NoError(t, err)
	require.Empty(t, members())
	var names []string
	for _, e := range r.events(t, room) {
		names = append(names, e.Event)
	}
	require.Equal(t, []string{"channel.member.left", "chat.moderation.action", "channel.member.left"}, names)
	// The session's host counts as host also before it enters.
	_, err = r.s.Chat.BanChannelMember(t.Context(), r.caller, room, chat.Restriction{Target: "ada", By: "ben"})
	refused(t, err, "conflict")
}

// TestABanReachesAllProcesses: nodes are notified of a ban, and of its end, at the
// commit. The ban applies to this channel only.
func TestABanReachesAllProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.owner.Session(t, nil).ID
	r.in(t, room, "ada", session.Host, session.Joined)
	r.in(t, room, "ben", session.Guest, session.Joined)
	conn, err := pgx.ConnectConfig(t.Context(), r.s.Pool.Config().ConnConfig)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), "LISTEN "+session.ChangesChannel)
	require.NoError(t, err)
	heard := func(payload string) {
		t.Helper()
		for {
			n, err := conn.WaitForNotification(t.Context())
			require.NoError(t, err)
			if n.Payload == payload {
				return
			}
		}
	}
	for _, lift := range []bool{false, true} {
		_, err = r.s.Chat.BanChannelMember(t.Context(), r.as(room, "ada"), room, chat.Restriction{Target: "ben", By: "ada", Lift: lift})
		require.NoError(t, err)
		heard(room + "/ben")
		_, err := r.other.Chat.ListChannelMessages(t.Context(), r.as(room, "ben"), room, chat.Place{}, chat.Place{}, 1)
		banned, listErr := r.other.Chat.ListBanned(t.Context(), r.owner.TenantID, room, []string{"ada", "ben"})
		require.NoError(t, listErr)
		if lift {
			require.NoError(t, err)
			require.Empty(t, banned)
			continue
		}
		refused(t, err, "banned")
		require.Equal(t, []string{"ben"}, banned)
	}
	var state string
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT state FROM participants WHERE room_id = $1 AND user_id = 'ben'", room).Scan(&state))
	require.Equal(t, session.Joined, state, "a ban in the chat doesn't throw out of the room")
}

func TestCheckChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, channelID := range []string{r.owner.Session(t, nil).ID, r.owner.Stream(t, nil).ID, r.owner.Channel(t, nil).ID} {
		require.NoError(t, r.s.Chat.CheckChannel(t.Context(), r.owner.TenantID, channelID))
		refused(t, r.s.Chat.CheckChannel(t.Context(), r.s.Register(t).TenantID, channelID), "not_found")
	}
	refused(t, r.s.Chat.CheckChannel(t.Context(), r.owner.TenantID, "chan_none"), "not_found")
}

func TestPinProduct(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ten, stream, room := r.owner.TenantID, r.owner.Stream(t, nil).ID, r.owner.Session(t, nil).ID
	product := r.owner.Product(t, nil).ID
	pin := func(tenantID, roomID, userID, productID string) error {
		return r.s.Chat.PinProduct(t.Context(), chat.PinInput{TenantID: tenantID, RoomID: roomID, UserID: userID, ProductID: productID})
	}
	since := r.s.Clock.Now()
	for _, in := range []string{stream, room} {
		r.in(t, in, "ada", session.Host, session.Joined)
		require.NoError(t, pin(ten, in, "ada", product))
		r.s.Clock.Advance(time.Second)
		require.NoError(t, pin(ten, in, "", product), "the tenant's own server")
		for role, state := range map[string]string{session.Cohost: session.Joined, session.Guest: session.Joined, session.Host: session.Kicked} {
			r.in(t, in, "ben", role, state)
			refused(t, pin(ten, in, "ben", product), "forbidden")
		}
		refused(t, pin(ten, in, "nobody", product), "forbidden")
		require.EqualError(t, pin(ten, in, "ada", "prod_none"), "product not found")
	}
	other := r.s.Register(t)
	require.EqualError(t, pin(ten, stream, "ada", other.Product(t, nil).ID), "product not found")
	require.EqualError(t, pin(other.TenantID, stream, "", product), "channel not found")
	require.EqualError(t, pin(ten, r.owner.Channel(t, nil).ID, "", product), "room not found")
	r.owner.Call(t, "DELETE", "/v1/me/catalog/products/"+product, nil).Is(t, 200)
	refused(t, pin(ten, stream, "ada", product), "conflict")

	var want []apitest.Publication
	for _, in := range []string{stream, stream, room, room} {
		want = append(want, apitest.Publication{Room: in, Type: realtime.ProductPin, Data: map[string]any{"id": product}})
	}
	require.Equal(t, want, r.s.Published())
	pins, err := r.s.Chat.ListPins(t.Context(), ten, stream, since, since.Add(time.Second))
	require.NoError(t, err)
	require.Len(t, pins, 1)
	require.Equal(t, []string{product, "ada"}, []string{pins[0].ProductID, pins[0].PinnedBy})
	pins, err = r.s.Chat.ListPins(t.Context(), ten, stream, since, since.Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, pins, 2)
}

// TestAllAtOnce: concurrent operations in one room's chat fail only because of a
// rule.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	room := r.owner.Session(t, nil).ID
	product := r.owner.Product(t, nil).ID
	for _, userID := range []string{"ben", "cyd", "dan"} {
		r.in(t, room, userID, session.Cohost, session.Joined)
	}
	first, err := r.say(t, 0, room, "ada", "first")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			ctx, s, user := t.Context(), r.service(i), []string{"ben", "cyd", "dan"}[i%3]
			c, on := r.as(room, user), chat.Restriction{Target: []string{"dan", "ben", "cyd"}[i%3], By: user, Lift: i%2 == 0}
			_, err1 := s.BanChannelMember(ctx, c, room, on)
			_, err2 := s.MuteChannelMember(ctx, c, room, on)
			_, err3 := s.TimeoutChannelMember(ctx, r.caller, room, on, time.Duration(i%2)*time.Second)
			_, err4 := s.SetChannelSlowmode(ctx, r.caller, room, "ada", int32(i%2), nil)
			_, err5 := s.SendChannelMessage(ctx, c, room, message(user, "x"))
			_, err6 := s.EditChannelMessage(ctx, r.caller, room, first.ID, chat.Patch{Body: "y"})
			_, err7 := s.JoinChannel(ctx, r.caller, room, user, nil)
			_, err8 := s.LeaveChannel(ctx, r.caller, room, "tom")
			_, err9 := s.ListChannelMessages(ctx, c, room, chat.Place{}, chat.Place{}, 5)
			err10 := s.PinProduct(ctx, chat.PinInput{TenantID: r.owner.TenantID, RoomID: room, ProductID: product})
			_, err11 := s.CreateDirectChannel(ctx, r.caller, chat.DirectInput{UserIDs: []string{"ada", user}})
			for k, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11} {
				if _, rule := problem.As(err); err != nil && !rule {
					t.Errorf("%d: %v", k+1, err)
				}
			}
		})
	}
	wg.Wait()
}
