package handlers_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

const channelsPath = "/v1/me/channels"

// members lists a channel's members as "user role", in order.
func members(t *testing.T, c *apitest.Caller, channelID string) (list []string) {
	t.Helper()
	var all []api.ChannelMember
	c.Call(t, "GET", channelsPath+"/"+channelID+"/members", nil).Into(t, 200, &all)
	for _, m := range all {
		require.Equal(t, channelID, m.ChannelID)
		require.True(t, m.LeftAt.IsNull() && !m.Banned)
		list = append(list, m.UserID+" "+string(m.Role))
	}
	return list
}

func TestCreateChannel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var ch, got api.Channel
	owner.Call(t, "POST", channelsPath, map[string]any{
		"name": "Backstage", "projectId": "launch", "hostId": "zoe", "userIds": []string{"ben", "ada", "zoe", "ben"},
	}).Into(t, 201, &ch)
	require.Equal(t, []any{api.ChannelKindGroup, "Backstage", "launch", 3, 0}, []any{ch.Kind, ch.Name, ch.ProjectID.MustGet(), ch.MemberCount, ch.SlowmodeSec})
	require.True(t, ch.LastMessageAt.IsNull())
	owner.Call(t, "GET", channelsPath+"/"+ch.ID, nil).Into(t, 200, &got)
	require.Equal(t, ch, got)
	require.Equal(t, []string{"zoe host", "ben guest", "ada guest"}, members(t, owner, ch.ID))
	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{"channel.member.joined", "channel.member.joined", "channel.member.joined"}, names)
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "zoe", "role": "host"}, data[0])
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "ben", "role": "guest"}, data[1])
	require.Equal(t, []string{"channel.create"}, auditActions(t, s, owner.TenantID, "channel."))

	var bare api.Channel
	owner.Call(t, "POST", channelsPath, map[string]any{"name": "Empty"}).Into(t, 201, &bare)
	require.True(t, bare.ProjectID.IsNull())
	require.Zero(t, bare.MemberCount)
	require.Empty(t, members(t, owner, bare.ID))

	thousand := make([]string, 1000)
	for i := range thousand {
		thousand[i] = fmt.Sprintf("user-%d", i)
	}
	owner.Call(t, "POST", channelsPath, map[string]any{"name": "All", "hostId": "zoe", "userIds": thousand}).Into(t, 201, &ch)
	require.Equal(t, 1001, ch.MemberCount)
	page, all := channelsPath+"/"+ch.ID+"/members?limit=200", []string{}
	for page != "" {
		var list []api.ChannelMember
		r := owner.Call(t, "GET", page, nil)
		r.Into(t, 200, &list)
		for _, m := range list {
			all = append(all, m.UserID)
		}
		page = r.NextPage(t)
	}
	require.Equal(t, append([]string{"zoe"}, thousand...), all)
	for _, cursor := range []string{"x", "1.", "-1." + strings.Repeat("0", 32), "1." + strings.Repeat("g", 32), ch.ID} {
		owner.Call(t, "GET", channelsPath+"/"+ch.ID+"/members?cursor="+cursor, nil).Problem(t, 400, "invalid_input")
	}
}

func TestChannelInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for body, field := range map[string]string{
		`{}`:           "name",
		`{"name":" "}`: "name",
		`{"name":"` + strings.Repeat("a", 121) + `"}`:                      "name",
		`{"name":"a","projectId":""}`:                                      "projectId",
		`{"name":"a","hostId":""}`:                                         "hostId",
		`{"name":"a","userIds":["\u0000"]}`:                                "userIds.0",
		`{"name":"a","userIds":[` + strings.Repeat(`"b",`, 1000) + `"b"]}`: "userIds",
		`{"name":"a","userIds":["` + strings.Repeat("a", 129) + `"]}`:      "userIds.0",
		`{"name":"a","hostId":"a\u0000"}`:                                  "hostId",
		`{"name":"a","projectId":"` + strings.Repeat("a", 65) + `"}`:       "projectId",
		`{"name":"a\u0000"}`:                                               "name",
	} {
		p := owner.Call(t, "POST", channelsPath, body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	for _, body := range []string{`{}`, `{"userIds":["a"]}`, `{"userIds":["a","a"]}`, `{"userIds":["a","b","c"]}`, `{"userIds":["a"," "]}`, `{"userIds":["a","b"],"name":""}`} {
		owner.Call(t, "POST", channelsPath+"/direct", body).Problem(t, 400, "invalid_input")
	}
	ch := owner.Channel(t, nil)
	for _, body := range []string{`{}`, `{"userId":""}`, `{"userId":"a","role":"king"}`, `{"userId":"a\u0000"}`} {
		owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/join", body).Problem(t, 400, "invalid_input")
	}
	owner.Call(t, "POST", channelsPath+"/"+ch.ID+"/leave", `{}`).Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", channelsPath+"?userId=", nil).Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", channelsPath+"?cursor=str_1", nil).Problem(t, 400, "invalid_input")
}

func TestListChannels(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.Register(t).Channel(t, nil)
	list := func(query string) (ids []string) {
		t.Helper()
		var all []api.Channel
		owner.Call(t, "GET", channelsPath+query, nil).Into(t, 200, &all)
		for _, ch := range all {
			ids = append(ids, ch.ID)
		}
		return ids
	}
	require.Empty(t, list(""))
	first, second := owner.Channel(t, nil).ID, owner.Channel(t, map[string]any{"hostId": "cyd"}).ID
	var direct api.Channel
	owner.Call(t, "POST", channelsPath+"/direct", map[string]any{"userIds": []string{"cyd", "ada"}}).Into(t, 201, &direct)
	say(t, owner, owner.Stream(t, nil).ID, "ada", "a stream's chat isn't listed")
	require.Equal(t, []string{direct.ID, second, first}, list(""))
	require.Equal(t, []string{direct.ID, first}, list("?userId=ada"))
	require.Equal(t, []string{second, first}, list("?userId=ben"))
	require.Empty(t, list("?userId=nobody"))
	r := owner.Call(t, "GET", channelsPath+"?limit=2", nil)
	require.Equal(t, []string{first}, list(strings.TrimPrefix(r.NextPage(t), channelsPath)))

	for _, gone := range []string{"/leave", "/moderate/ban"} {
		owner.Call(t, "POST", channelsPath+"/"+first+gone, map[string]any{"userId": "ben", "target": "ben", "by": "ada"}).Is(t, 201)
		require.Equal(t, []string{second}, list("?userId=ben"))
		owner.Call(t, "POST", channelsPath+"/"+first+"/join", map[string]any{"userId": "ben"})
	}
}

func TestCreateDirectChannel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	direct := func(c *apitest.Caller, body map[string]any) (ch api.Channel) {
		t.Helper()
		c.Call(t, "POST", channelsPath+"/direct", body).Into(t, 201, &ch)
		return ch
	}
	ch := direct(owner, map[string]any{"userIds": []string{"ben", "ada"}, "projectId": "launch"})
	require.Equal(t, []any{api.ChannelKindDirect, "ada, ben", "launch", 2}, []any{ch.Kind, ch.Name, ch.ProjectID.MustGet(), ch.MemberCount})
	require.Equal(t, ch, direct(owner, map[string]any{"userIds": []string{"ada", "ben"}, "projectId": "launch", "name": "Another"}))
	bare := direct(owner, map[string]any{"userIds": []string{"ada", "ben"}, "name": "Ada and Ben"})
	require.Equal(t, "Ada and Ben", bare.Name)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values([]string{
		ch.ID, bare.ID, direct(owner, map[string]any{"userIds": []string{"ada", "ben"}, "projectId": "other"}).ID,
		direct(owner, map[string]any{"userIds": []string{"ada", "cyd"}}).ID, direct(other, map[string]any{"userIds": []string{"ada", "ben"}}).ID,
	}))), 5)
	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{"channel.member.joined", "channel.member.joined"}, names)
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "ada", "role": "guest"}, data[0])

	// A direct channel always keeps its two members, and no other user writes in it.
	path := channelsPath + "/" + ch.ID
	say(t, owner, ch.ID, "ada", "hi")
	owner.Say(t, ch.ID, "cyd", "hi").Problem(t, 403, "forbidden")
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "cyd"}).Problem(t, 409, "conflict")
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "ada"}).Problem(t, 409, "conflict")
	owner.Call(t, "POST", path+"/leave", map[string]any{"userId": "ada"}).Problem(t, 409, "conflict")
	owner.Call(t, "POST", path+"/moderate/mute", map[string]any{"target": "cyd", "by": "ada"}).Problem(t, 404, "not_found")
	owner.Call(t, "POST", path+"/moderate/ban", map[string]any{"target": "ben", "by": "ada"}).Is(t, 201)
	owner.Say(t, ch.ID, "ben", "hi").Problem(t, 403, "banned")
	require.Equal(t, []string{"ada guest"}, members(t, owner, ch.ID))
	owner.Call(t, "POST", path+"/moderate/ban", map[string]any{"target": "ben", "by": "ada", "active": false}).Is(t, 201)
	say(t, owner, ch.ID, "ben", "hi again")
	require.Equal(t, []string{"ada guest", "ben guest"}, members(t, owner, ch.ID))
	require.Equal(t, []string{"hi", "hi again"}, heard(t, owner, path+"/messages"), "reading is the tenant's business")
}

// TestOneDirectChannelForAPair sends many requests at once, to two servers.
func TestOneDirectChannelForAPair(t *testing.T) {
	t.Parallel()
	s, other := apitest.New(t, apitest.Options{}), apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	callers := []*apitest.Caller{owner, other.With(t, owner.Token)}
	ids := make([]string, 20)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			users := []string{"ada", "ben"}
			if i%3 == 0 {
				slices.Reverse(users)
			}
			var ch api.Channel
			callers[i%2].Call(t, "POST", channelsPath+"/direct", map[string]any{"userIds": users}).Into(t, 201, &ch)
			ids[i] = ch.ID
		})
	}
	wg.Wait()
	require.Len(t, slices.Compact(ids), 1)
	names, _ := chatEvents(t, s, owner.TenantID, ids[0])
	require.Len(t, names, 2)
}

func TestJoinAndLeaveChannel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	path := channelsPath + "/" + ch.ID
	var m, again api.ChannelMember
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "cyd"}).Into(t, 201, &m)
	require.Equal(t, []any{ch.ID, "cyd", api.ParticipantRoleGuest}, []any{m.ChannelID, m.UserID, m.Role})
	require.True(t, m.LeftAt.IsNull() && m.TimedOutUntil.IsNull() && !m.Muted && !m.Banned)
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "cyd", "role": "cohost"}).Into(t, 201, &again)
	require.Equal(t, api.ParticipantRoleCohost, again.Role)
	require.Equal(t, m.JoinedAt, again.JoinedAt)
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "cyd"}).Into(t, 201, &again)
	require.Equal(t, api.ParticipantRoleCohost, again.Role, "no role is no change")
	require.Equal(t, []string{"ada host", "ben guest", "cyd cohost"}, members(t, owner, ch.ID))

	for range 2 {
		owner.Call(t, "POST", path+"/leave", map[string]any{"userId": "ben"}).Into(t, 201, &m)
		require.Equal(t, "ben", m.UserID)
		require.False(t, m.LeftAt.IsNull())
	}
	owner.Call(t, "POST", path+"/leave", map[string]any{"userId": "nobody"}).Problem(t, 404, "not_found")
	require.Equal(t, []string{"ada host", "cyd cohost"}, members(t, owner, ch.ID))
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "ben", "role": "viewer"}).Is(t, 201)
	require.Equal(t, []string{"ada host", "cyd cohost", "ben viewer"}, members(t, owner, ch.ID), "a returning member is after the others")

	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{
		"channel.member.joined", "channel.member.joined", "channel.member.joined", "channel.member.left", "channel.member.joined",
	}, names)
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "cyd", "role": "guest"}, data[2])
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "ben"}, data[3])
	require.Equal(t, map[string]any{"channelId": ch.ID, "userId": "ben", "role": "viewer"}, data[4])

	owner.Call(t, "POST", path+"/moderate/ban", map[string]any{"target": "ben", "by": "ada"}).Is(t, 201)
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "ben"}).Problem(t, 403, "banned")
	owner.Call(t, "POST", path+"/leave", map[string]any{"userId": "ben"}).Into(t, 201, &m)
	require.True(t, m.Banned)
}

// TestAStreamsChannel checks that every stream has a channel without a request to create it.
func TestAStreamsChannel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, map[string]any{"name": "Launch", "projectId": "launch"})
	path := channelsPath + "/" + st.ID
	var ch api.Channel
	owner.Call(t, "GET", path, nil).Into(t, 200, &ch)
	require.Equal(t, []any{st.ID, api.ChannelKindStream, "Launch", "launch", 0, 0, st.CreatedAt, st.CreatedAt}, []any{
		ch.ID, ch.Kind, ch.Name, ch.ProjectID.MustGet(), ch.MemberCount, ch.SlowmodeSec, ch.CreatedAt, ch.UpdatedAt,
	})
	require.Empty(t, members(t, owner, st.ID))
	require.Empty(t, heard(t, owner, path+"/messages"))
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", path+"/moderation", nil).Is(t, 200).Body))
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM channels WHERE id = $1", st.ID).Scan(&n))
	require.Zero(t, n, "looking leaves no trace")

	m := say(t, owner, st.ID, "ada", "hi")
	owner.Call(t, "POST", path+"/join", map[string]any{"userId": "ada", "role": "host"}).Is(t, 201)
	owner.Call(t, "POST", path+"/moderate/slowmode", map[string]any{"slowmodeSec": 7, "by": "ada"}).Is(t, 201)
	owner.Call(t, "GET", path, nil).Into(t, 200, &ch)
	require.Equal(t, []any{1, 7, timestamp.Format(m.CreatedAt.Time)}, []any{ch.MemberCount, ch.SlowmodeSec, timestamp.Format(ch.LastMessageAt.MustGet().Time)})
	require.Equal(t, st.CreatedAt, ch.CreatedAt)
	require.Equal(t, []string{"ada host"}, members(t, owner, st.ID))
}

func TestChannelsOfOthersAreMissing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	viewer := owner.Colleague(t, tenancy.Viewer)
	ch := owner.Channel(t, nil)
	for _, channelID := range []string{ch.ID, owner.Stream(t, nil).ID} {
		require.Equal(t, "channel not found", other.Call(t, "GET", channelsPath+"/"+channelID, nil).Problem(t, 404, "not_found").Message)
		viewer.Call(t, "GET", channelsPath+"/"+channelID, nil).Is(t, 200)
		viewer.Call(t, "POST", channelsPath+"/"+channelID+"/join", map[string]any{"userId": "x"}).Problem(t, 403, "forbidden")
	}
}
