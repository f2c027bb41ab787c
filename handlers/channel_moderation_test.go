package handlers_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/schema"
)

// moderate performs an act of moderation in a channel.
func moderate(t *testing.T, c *apitest.Caller, channelID, kind string, body map[string]any) (a api.ChannelModerationAction) {
	t.Helper()
	c.Call(t, "POST", channelsPath+"/"+channelID+"/moderate/"+kind, body).Into(t, 201, &a)
	require.Equal(t, []any{channelID, api.ChannelModerationKind(kind), body["by"]}, []any{a.ChannelID, a.Kind, a.By})
	return a
}

func TestTimeoutChannelMember(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	before := databaseTime(t, s)
	a := moderate(t, owner, ch.ID, "timeout", map[string]any{"target": "ben", "by": "ada", "durationSec": 300, "reason": "spam"})
	require.Equal(t, []any{"ben", "spam", true}, []any{a.Target.MustGet(), a.Reason.MustGet(), a.Active})
	require.True(t, a.SlowmodeSec.IsNull())
	require.Equal(t, 300*time.Second, a.ExpiresAt.MustGet().Sub(a.CreatedAt.Time))
	require.False(t, a.CreatedAt.Before(before), "the database's clock counts, not the server's")
	require.Contains(t, owner.Say(t, ch.ID, "ben", "x").Problem(t, 403, "timed_out").Message, " 300 seconds")
	say(t, owner, ch.ID, "ada", "others write")
	var list []api.ChannelMember
	owner.Call(t, "GET", channelsPath+"/"+ch.ID+"/members", nil).Into(t, 200, &list)
	require.Equal(t, a.ExpiresAt, list[1].TimedOutUntil)

	// A second timeout replaces the first.
	moderate(t, owner, ch.ID, "timeout", map[string]any{"target": "ben", "by": "ada", "durationSec": 604800})
	require.Contains(t, owner.Say(t, ch.ID, "ben", "x").Problem(t, 403, "timed_out").Message, " 604800 seconds")
	// It ends by itself.
	_, err := s.Pool.Exec(t.Context(), "UPDATE channel_members SET timed_out_until = clock_timestamp() WHERE channel_id = $1 AND user_id = 'ben'", ch.ID)
	require.NoError(t, err)
	say(t, owner, ch.ID, "ben", "here again")
	owner.Call(t, "GET", channelsPath+"/"+ch.ID+"/members", nil).Into(t, 200, &list)
	require.True(t, list[1].TimedOutUntil.IsNull())
	// A timeout can be ended early, also if there is none.
	moderate(t, owner, ch.ID, "timeout", map[string]any{"target": "cyd", "by": "ada", "durationSec": 60})
	for range 2 {
		a = moderate(t, owner, ch.ID, "timeout", map[string]any{"target": "cyd", "by": "ada", "durationSec": 0})
		require.False(t, a.Active)
		require.True(t, a.ExpiresAt.IsNull())
	}
	say(t, owner, ch.ID, "cyd", "hi")

	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	actions := 0
	for i, name := range names {
		if name == "chat.moderation.action" {
			actions++
			require.Equal(t, "timeout", data[i]["kind"])
		}
	}
	require.Equal(t, 3, actions, "the end of a restriction sends no event")
	require.Equal(t, map[string]any{"channelId": ch.ID, "kind": "timeout", "target": "ben", "by": "ada", "reason": "spam"}, data[2])
	require.Len(t, auditActions(t, s, owner.TenantID, "channel.timeout"), 5)
}

func TestMuteChannelMember(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	a := moderate(t, owner, ch.ID, "mute", map[string]any{"target": "ben", "by": "ada"})
	require.True(t, a.Active && a.ExpiresAt.IsNull() && a.Reason.IsNull() && a.SlowmodeSec.IsNull())
	owner.Say(t, ch.ID, "ben", "x").Problem(t, 403, "muted")
	var list []api.ChannelMember
	owner.Call(t, "GET", channelsPath+"/"+ch.ID+"/members", nil).Into(t, 200, &list)
	require.True(t, list[1].Muted)
	require.False(t, moderate(t, owner, ch.ID, "mute", map[string]any{"target": "ben", "by": "ada", "active": false}).Active)
	say(t, owner, ch.ID, "ben", "x")
	// A user who is no member can be restricted too, and doesn't become a
	// member by that.
	moderate(t, owner, ch.ID, "mute", map[string]any{"target": "cyd", "by": "ada", "active": true})
	owner.Say(t, ch.ID, "cyd", "x").Problem(t, 403, "muted")
	require.Equal(t, []string{"ada host", "ben guest"}, members(t, owner, ch.ID))
	owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/leave", map[string]any{"userId": "cyd"}).Problem(t, 404, "not_found")
	var m api.ChannelMember
	owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/join", map[string]any{"userId": "cyd"}).Into(t, 201, &m)
	require.Equal(t, []any{true, api.ParticipantRoleGuest}, []any{m.Muted, m.Role})
	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{
		"channel.member.joined", "channel.member.joined", "chat.moderation.action", "chat.message.created", "chat.moderation.action", "channel.member.joined",
	}, names)
	require.Equal(t, map[string]any{"channelId": ch.ID, "kind": "mute", "target": "ben", "by": "ada"}, data[2])
}

func TestBanChannelMember(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	moderate(t, owner, ch.ID, "ban", map[string]any{"target": "ben", "by": "ada", "reason": "spam"})
	owner.Say(t, ch.ID, "ben", "x").Problem(t, 403, "banned")
	require.Equal(t, []string{"ada host"}, members(t, owner, ch.ID))
	var got api.Channel
	owner.Call(t, "GET", channelsPath+"/"+ch.ID, nil).Into(t, 200, &got)
	require.Equal(t, 1, got.MemberCount)
	for range 2 {
		moderate(t, owner, ch.ID, "ban", map[string]any{"target": "ben", "by": "ada", "active": false})
	}
	require.Equal(t, []string{"ada host"}, members(t, owner, ch.ID), "an unbanned user has to join again")
	say(t, owner, ch.ID, "ben", "x")
	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{
		"channel.member.joined", "channel.member.joined", "chat.moderation.action", "channel.member.left", "chat.message.created",
	}, names)
	require.Equal(t, map[string]any{"channelId": ch.ID, "kind": "ban", "target": "ben", "by": "ada", "reason": "spam"}, data[2])
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "ben"}, data[3])
}

func TestSlowmode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/join", map[string]any{"userId": "cyd", "role": "cohost"}).Is(t, 201)
	say(t, owner, ch.ID, "dan", "before it was slow")
	a := moderate(t, owner, ch.ID, "slowmode", map[string]any{"slowmodeSec": 3600, "by": "ada", "reason": "crowded"})
	require.Equal(t, []any{3600, true, "crowded"}, []any{a.SlowmodeSec.MustGet(), a.Active, a.Reason.MustGet()})
	require.True(t, a.Target.IsNull() && a.ExpiresAt.IsNull())
	for range 2 { // moderators are exempt
		say(t, owner, ch.ID, "ada", "x")
		say(t, owner, ch.ID, "cyd", "x")
	}
	say(t, owner, ch.ID, "ben", "x")
	wait := func(user string) int {
		t.Helper()
		r := owner.Say(t, ch.ID, user, "x")
		r.Problem(t, 429, "rate_limited")
		left, err := strconv.Atoi(r.Header.Get("Retry-After"))
		require.NoError(t, err)
		return left
	}
	for _, user := range []string{"ben", "dan"} {
		require.InDelta(t, 3600, wait(user), 60)
	}
	wrote := func(user string, ago time.Duration) {
		t.Helper()
		_, err := s.Pool.Exec(t.Context(), "UPDATE channel_members SET wrote_at = clock_timestamp() - $3::interval WHERE channel_id = $1 AND user_id = $2", ch.ID, user, ago)
		require.NoError(t, err)
	}
	// Seconds are rounded up: a wait of 99.9 s is answered as 100 s.
	wrote("ben", 3500*time.Second)
	require.InDelta(t, 100, wait("ben"), 5)
	wrote("ben", time.Hour)
	say(t, owner, ch.ID, "ben", "x")
	require.InDelta(t, 3600, wait("ben"), 60)
	require.Equal(t, []string{"ada host", "ben guest", "cyd cohost"}, members(t, owner, ch.ID), "dan is remembered, and no member")

	a = moderate(t, owner, ch.ID, "slowmode", map[string]any{"slowmodeSec": 0, "by": "ada"})
	require.Equal(t, []any{0, false}, []any{a.SlowmodeSec.MustGet(), a.Active})
	say(t, owner, ch.ID, "ben", "x")
	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	var actions []map[string]any
	for i, name := range names {
		if name == "chat.moderation.action" {
			actions = append(actions, data[i])
		}
	}
	require.Equal(t, []map[string]any{{"channelId": ch.ID, "kind": "slowmode", "by": "ada", "reason": "crowded"}}, actions)
}

// TestAHostCantBeRestricted checks that a host can't be restricted, and that a
// restriction from before can be lifted.
func TestAHostCantBeRestricted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	for _, kind := range []string{"timeout", "ban", "mute"} {
		body := map[string]any{"target": "ada", "by": "ben", "durationSec": 60}
		owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/moderate/"+kind, body).Problem(t, 409, "conflict")
		moderate(t, owner, ch.ID, kind, map[string]any{"target": "ada", "by": "ben", "durationSec": 0, "active": false})
	}
	say(t, owner, ch.ID, "ada", "x")
	moderate(t, owner, ch.ID, "mute", map[string]any{"target": "ben", "by": "ada"})
	owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/join", map[string]any{"userId": "ben", "role": "host"}).Is(t, 201)
	moderate(t, owner, ch.ID, "mute", map[string]any{"target": "ben", "by": "ada", "active": false})
	say(t, owner, ch.ID, "ben", "x")
}

func TestListChannelModeration(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	var want []api.ChannelModerationAction
	for _, kind := range []string{"timeout", "ban", "mute", "slowmode"} {
		want = append(want, moderate(t, owner, st.ID, kind, map[string]any{"target": "ben", "by": "ada", "durationSec": 60, "slowmodeSec": 5}),
			moderate(t, owner, st.ID, kind, map[string]any{"target": "ben", "by": "ada", "durationSec": 0, "active": false, "slowmodeSec": 0}))
	}
	var got []api.ChannelModerationAction
	for page := channelsPath + "/" + st.ID + "/moderation?limit=3"; page != ""; {
		var list []api.ChannelModerationAction
		r := owner.Call(t, "GET", page, nil)
		r.Into(t, 200, &list)
		slices.Reverse(list)
		got = append(list, got...)
		page = r.NextPage(t)
	}
	require.Equal(t, want, got)
	owner.Call(t, "GET", channelsPath+"/"+st.ID+"/moderation?cursor=x", nil).Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", channelsPath+"/chan_none/moderation", nil).Problem(t, 404, "not_found")
}

func TestListChannelRestrictions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	list := func(query string) (all []api.ChannelRestriction) {
		t.Helper()
		for page := channelsPath + "/" + st.ID + "/restrictions?" + query; page != ""; {
			var rows []api.ChannelRestriction
			r := owner.Call(t, "GET", page, nil)
			r.Into(t, 200, &rows)
			all = append(all, rows...)
			page = r.NextPage(t)
		}
		return all
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", channelsPath+"/"+st.ID+"/restrictions", nil).Is(t, 200).Body))
	restrict := func(kind, target string, seconds int, active bool) api.ChannelRestriction {
		t.Helper()
		a := moderate(t, owner, st.ID, kind, map[string]any{"target": target, "by": "ada", "reason": "spam", "durationSec": seconds, "active": active})
		return api.ChannelRestriction{
			ID: a.ID, ChannelID: st.ID, Kind: api.ChannelRestrictionKind(kind), UserID: target, By: "ada", Reason: a.Reason,
			Since: a.CreatedAt, Until: a.ExpiresAt,
		}
	}
	restrict("mute", "ben", 0, true)
	timeout := restrict("timeout", "ben", 60, true)
	ban := restrict("ban", "ben", 0, true)
	restrict("ban", "cleo", 0, true)
	other := restrict("timeout", "cleo", 60, true)
	mute := restrict("mute", "ben", 0, true) // replaces the first one
	restrict("ban", "cleo", 0, false)
	restrict("mute", "cleo", 0, false) // there is none
	moderate(t, owner, st.ID, "slowmode", map[string]any{"slowmodeSec": 5, "by": "ada"})

	require.Equal(t, []api.ChannelRestriction{mute, other, ban, timeout}, list("limit=1"))
	require.Equal(t, []api.ChannelRestriction{other, timeout}, list("limit=1&kind=timeout"))
	require.Equal(t, []api.ChannelRestriction{mute, ban, timeout}, list("limit=1&userId=ben"))
	require.Equal(t, []api.ChannelRestriction{mute, other, ban, timeout}, list("userId=ben&userId=cleo&userId=dana"))
	require.Equal(t, []api.ChannelRestriction{mute}, list("userId=ben&kind=mute"))
	require.Empty(t, list("userId=dana"))

	_, err := s.Pool.Exec(t.Context(), "UPDATE channel_restrictions SET expires_at = clock_timestamp() WHERE id = $1", timeout.ID)
	require.NoError(t, err)
	require.Equal(t, []api.ChannelRestriction{mute, other, ban}, list(""), "an ended timeout is not listed")
	require.Equal(t, []api.ChannelRestriction{mute, ban}, list("userId=ben"))
	restrict("timeout", "cleo", 0, false)
	require.Equal(t, []api.ChannelRestriction{mute, ban}, list(""))

	// The migration finds the same restrictions in the actions.
	migration, err := schema.FS.ReadFile("0100_channel_restrictions.sql")
	require.NoError(t, err)
	before, backfill, found := strings.Cut(string(migration), "-- The restrictions before this migration.")
	require.True(t, found)
	require.Contains(t, before, "CREATE TRIGGER")
	_, err = s.Pool.Exec(t.Context(), "DELETE FROM channel_restrictions WHERE channel_id = $1", st.ID)
	require.NoError(t, err)
	require.Empty(t, list(""))
	_, err = s.Pool.Exec(t.Context(), strings.TrimSuffix(strings.TrimSpace("-- "+backfill), ";")+" ON CONFLICT DO NOTHING")
	require.NoError(t, err)
	require.Equal(t, []api.ChannelRestriction{mute, ban, timeout}, list(""), "the end of this timeout was changed in its row only")

	for _, query := range []string{"cursor=x", "kind=slowmode", "userId=", "limit=0", "userId=a" + strings.Repeat("&userId=a", 100)} {
		owner.Call(t, "GET", channelsPath+"/"+st.ID+"/restrictions?"+query, nil).Problem(t, 400, "invalid_input")
	}
	owner.Call(t, "GET", channelsPath+"/chan_none/restrictions", nil).Problem(t, 404, "not_found")
	s.Register(t).Call(t, "GET", channelsPath+"/"+st.ID+"/restrictions", nil).Problem(t, 404, "not_found")
}

func TestModerationInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	for kind, bodies := range map[string][]string{
		"timeout":  {`{}`, `{"target":"ben","by":"ada"}`, `{"target":"ben","by":"ada","durationSec":-1}`, `{"target":"ben","by":"ada","durationSec":604801}`, `{"target":"ben","by":"ada","durationSec":1.5}`},
		"ban":      {`{}`, `{"target":" ","by":"ada"}`, `{"target":"ben","by":""}`, `{"target":"ben","by":"ada","active":"yes"}`, `{"target":"ben\u0000","by":"ada"}`},
		"mute":     {`{}`, `{"target":"ben","by":"ada","reason":"` + strings.Repeat("a", 501) + `"}`, `{"target":"ben","by":"ada","reason":"\u0000"}`},
		"slowmode": {`{}`, `{"slowmodeSec":-1,"by":"ada"}`, `{"slowmodeSec":3601,"by":"ada"}`, `{"slowmodeSec":1}`},
	} {
		for _, body := range bodies {
			owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/moderate/"+kind, body).Problem(t, 400, "invalid_input")
		}
		owner.Call(t, "POST", channelsPath+"/chan_none/moderate/"+kind, map[string]any{"target": "b", "by": "a", "durationSec": 1, "slowmodeSec": 1}).
			Problem(t, 404, "not_found")
	}
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", channelsPath+"/"+ch.ID+"/moderation", nil).Is(t, 200).Body))
}
