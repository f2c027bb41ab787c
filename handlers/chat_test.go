package handlers_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// chatEvents returns a channel's events in order.
func chatEvents(t *testing.T, s *apitest.Server, tenantID, channelID string) (names []string, data []map[string]any) {
	t.Helper()
	return eventsOf(t, s, tenantID, channelID+"/chat")
}

// published returns the publications in a room in order.
func published(s *apitest.Server, room string) (list []apitest.Publication) {
	for _, p := range s.Published() {
		if p.Room == room {
			list = append(list, p)
		}
	}
	return list
}

// say writes in a channel and returns the message.
func say(t *testing.T, c *apitest.Caller, channelID, authorID, text string) (m api.ChatMessage) {
	t.Helper()
	c.Say(t, channelID, authorID, text).Into(t, 201, &m)
	return m
}

// heard returns the texts of a history.
func heard(t *testing.T, c *apitest.Caller, path string) (texts []string) {
	t.Helper()
	var list []api.ChatMessage
	c.Call(t, "GET", path, nil).Into(t, 200, &list)
	for _, m := range list {
		text := "-"
		if !m.Body.IsNull() {
			text = m.Body.MustGet()
		}
		texts = append(texts, text)
	}
	return texts
}

func TestSendStreamMessage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	path := "/v1/me/streams/" + st.ID + "/chat"
	var first, second api.ChatMessage
	owner.Call(t, "POST", path, map[string]any{"body": "Hello", "authorId": "ada", "authorName": "Ada Okafor"}).Into(t, 201, &first)
	require.Regexp(t, `^msg_[0-9a-z]{26}$`, first.ID)
	require.Equal(t, []any{st.ID, "ada", "Ada Okafor", "Hello", []string{}, false}, []any{
		first.ChannelID, first.AuthorID, first.AuthorName, first.Body.MustGet(), first.Mentions, first.Redacted,
	})
	require.True(t, first.EditedAt.IsNull() && first.RedactedBy.IsNull())
	require.Nil(t, first.ParentID)
	require.Nil(t, first.Attachments)

	attachments := []any{map[string]any{"url": "https://cdn.acme.example/a.pdf", "name": "a.pdf", "contentType": "application/pdf", "sizeBytes": 12}}
	owner.Call(t, "POST", path, map[string]any{
		"body": "Hi @ada", "authorId": "ben", "authorName": "Ben", "parentId": first.ID, "mentions": []string{"ada", "cyd", "ada"}, "attachments": attachments,
	}).Into(t, 201, &second)
	require.Equal(t, first.ID, *second.ParentID)
	require.Equal(t, []string{"ada", "cyd"}, second.Mentions)
	require.Equal(t, "https://cdn.acme.example/a.pdf", second.Attachments[0].URL)
	require.Equal(t, int64(12), *second.Attachments[0].SizeBytes)
	require.Greater(t, second.ID, first.ID)
	require.True(t, second.CreatedAt.After(first.CreatedAt.Time))

	var list []api.ChatMessage
	s.With(t, "").Call(t, "GET", "/v1/streams/"+st.ID+"/chat", nil).Into(t, 200, &list)
	require.Equal(t, []api.ChatMessage{first, second}, list)

	names, data := chatEvents(t, s, owner.TenantID, st.ID)
	require.Equal(t, []string{"chat.message.created", "chat.message.created"}, names)
	require.Equal(t, map[string]any{
		"id": first.ID, "channelId": st.ID, "authorId": "ada", "authorName": "Ada Okafor", "body": "Hello", "mentions": []any{},
		"createdAt": timestamp.Format(first.CreatedAt.Time),
	}, data[0])
	require.Equal(t, map[string]any{
		"id": second.ID, "channelId": st.ID, "authorId": "ben", "authorName": "Ben", "body": "Hi @ada", "parentId": first.ID, "mentions": []any{"ada", "cyd"},
		"attachments": []any{map[string]any{"url": "https://cdn.acme.example/a.pdf", "name": "a.pdf", "contentType": "application/pdf", "sizeBytes": 12.0}},
		"createdAt":   timestamp.Format(second.CreatedAt.Time),
	}, data[1])
	require.Equal(t, []apitest.Publication{
		{Room: st.ID, Type: "chat.message", Data: data[0]}, {Room: st.ID, Type: "chat.message", Data: data[1]},
	}, published(s, st.ID))
}

func TestSendMessageWhereThereIsNoChannel(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	ch, foreign := owner.Channel(t, nil), other.Stream(t, nil)
	body := map[string]any{"body": "Hello", "authorId": "ada", "authorName": "Ada"}
	for _, streamID := range []string{"str_none", foreign.ID, ch.ID} {
		p := owner.Call(t, "POST", "/v1/me/streams/"+streamID+"/chat", body).Problem(t, 404, "not_found")
		require.Equal(t, "stream not found", p.Message)
	}
	for _, channelID := range []string{"chan_none", foreign.ID, other.Channel(t, nil).ID} {
		p := owner.Call(t, "POST", "/v1/me/channels/"+channelID+"/messages", body).Problem(t, 404, "not_found")
		require.Equal(t, "channel not found", p.Message)
	}
	s.With(t, "").Call(t, "GET", "/v1/streams/str_none/chat", nil).Problem(t, 404, "not_found")
	s.With(t, "").Call(t, "GET", "/v1/streams/"+ch.ID+"/chat", nil).Problem(t, 404, "not_found")

	// A message can only answer a message of the same channel.
	elsewhere := say(t, owner, ch.ID, "ada", "here")
	st := owner.Stream(t, nil)
	for _, parent := range []string{elsewhere.ID, say(t, other, foreign.ID, "eve", "x").ID, "msg_none", " "} {
		body["parentId"] = parent
		p := owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/chat", body).Problem(t, 404, "not_found")
		require.Equal(t, "message not found", p.Message)
	}
	require.Empty(t, heard(t, owner, "/v1/streams/"+st.ID+"/chat"))
	require.Empty(t, published(s, st.ID))
}

func TestMessageInput(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	base := `"body":"Hi","authorId":"ada","authorName":"Ada"`
	for body, field := range map[string]string{
		`{}`: "body",
		`{"body":" \n","authorId":"ada","authorName":"Ada"}`:                               "body",
		`{"body":"` + strings.Repeat("é", 4001) + `","authorId":"ada","authorName":"Ada"}`: "body",
		`{"body":"a\u0000b","authorId":"ada","authorName":"Ada"}`:                          "body",
		`{"body":"Hi","authorId":"","authorName":"Ada"}`:                                   "authorId",
		`{"body":"Hi","authorId":"` + strings.Repeat("a", 129) + `","authorName":"Ada"}`:   "authorId",
		`{"body":"Hi","authorId":"a\u0000","authorName":"Ada"}`:                            "authorId",
		`{"body":"Hi","authorId":"ada","authorName":" "}`:                                  "authorName",
		`{"body":"Hi","authorId":"ada","authorName":"` + strings.Repeat("A", 121) + `"}`:   "authorName",
		`{` + base + `,"parentId":"msg_\u0000"}`:                                           "parentId",
		`{` + base + `,"mentions":[` + many(51, `"ben"`) + `]}`:                            "mentions",
		`{` + base + `,"mentions":[` + many(10_000, `"ben"`) + `]}`:                        "mentions",
		`{` + base + `,"mentions":["ben","\u0000"]}`:                                       "mentions.1",
		`{` + base + `,"mentions":[""]}`:                                                   "mentions.0",
		`{` + base + `,"attachments":[` + many(11, `{"url":"https://a.example/x"}`) + `]}`: "attachments",
		`{` + base + `,"attachments":[{}]}`:                                                "attachments.0.url",
		`{` + base + `,"attachments":[{"url":"javascript:alert(1)"}]}`:                     "attachments.0.url",
		`{` + base + `,"attachments":[{"url":"ftp://a.example/x"}]}`:                       "attachments.0.url",
		`{` + base + `,"attachments":[{"url":"https:///x"}]}`:                              "attachments.0.url",
		`{` + base + `,"attachments":[{"url":"https://a.example/x","name":"\u0000"}]}`:     "attachments.0.name",
		`{` + base + `,"attachments":[{"url":"https://a.example/x","sizeBytes":-1}]}`:      "attachments.0.sizeBytes",
	} {
		for _, path := range []string{"/v1/me/streams/" + st.ID + "/chat", "/v1/me/channels/" + st.ID + "/messages"} {
			p := owner.Call(t, "POST", path, body).Problem(t, 400, "invalid_input")
			require.Equal(t, field, p.Errors[0].Field, body)
		}
	}
	m := say(t, owner, st.ID, "ada", "Hi")
	for _, body := range []string{`{}`, `{"body":""}`, `{"body":"\u0000"}`, `{"body":"x","mentions":[` + many(51, `"ben"`) + `]}`} {
		owner.Call(t, "PATCH", "/v1/me/channels/"+st.ID+"/messages/"+m.ID, body).Problem(t, 400, "invalid_input")
	}
	// Unusual text that can be stored is kept unchanged.
	for _, text := range []string{"\u202egnp.exe", "a\tb\r\nc", "\u200b.", "👩‍👩‍👧‍👦", "<script>", strings.Repeat("é", 4000), "'; DROP TABLE channels; --", "\x01"} {
		require.Equal(t, text, say(t, owner, st.ID, "ada", text).Body.MustGet())
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	var all []api.ChatMessage
	for i := range 60 {
		all = append(all, say(t, owner, st.ID, "ada", strconv.Itoa(i)))
	}
	for _, path := range []string{"/v1/streams/" + st.ID + "/chat?", "/v1/me/channels/" + st.ID + "/messages?"} {
		texts := heard(t, owner, path)
		require.Len(t, texts, 50)
		require.Equal(t, []string{"10", "59"}, []string{texts[0], texts[49]}, "the newest, oldest first")
		require.Equal(t, []string{"57", "58", "59"}, heard(t, owner, path+"since=&limit=3"))
		require.Equal(t, []string{"3", "4"}, heard(t, owner, path+"limit=2&since="+all[2].ID))
		at := timestamp.Format(all[2].CreatedAt.Time)
		require.Equal(t, []string{"3", "4"}, heard(t, owner, path+"limit=2&since="+at))
		shifted := all[2].CreatedAt.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)
		require.Equal(t, []string{"3"}, heard(t, owner, path+"limit=1&since="+url.QueryEscape(shifted)))
		require.Equal(t, []string{"3"}, heard(t, owner, path+"limit=1&since="+shifted), "with a + that the client did not encode")
		require.Empty(t, heard(t, owner, path+"since="+all[59].ID))
		require.Empty(t, heard(t, owner, path+"since=2999-01-01T00:00:00Z"))
		require.Len(t, heard(t, owner, path+"limit=200&since=1970-01-01T00:00:00Z"), 60)
		for _, since := range []string{"yesterday", "msg_1", "2026-02-30T00:00:00Z", "2026-01-01", "0", "%00", all[0].ID + "0", "str_" + all[0].ID[4:]} {
			p := owner.Call(t, "GET", path+"since="+since, nil).Problem(t, 400, "invalid_input")
			require.Equal(t, "since", p.Errors[0].Field)
		}
		for _, limit := range []string{"0", "201", "-1", "1.5", "x"} {
			p := owner.Call(t, "GET", path+"limit="+limit, nil).Problem(t, 400, "invalid_input")
			require.Equal(t, "limit", p.Errors[0].Field)
		}
	}
	path := "/v1/me/channels/" + st.ID + "/messages?"
	require.Equal(t, []string{"3", "4"}, heard(t, owner, path+"limit=2&before="+all[5].ID))
	require.Equal(t, []string{"3", "4"}, heard(t, owner, path+"limit=2&before="+timestamp.Format(all[5].CreatedAt.Time)))
	require.Equal(t, []string{"3", "4"}, heard(t, owner, path+"since="+all[2].ID+"&before="+all[5].ID))
	require.Equal(t, []string{"3"}, heard(t, owner, path+"limit=1&since="+all[2].ID+"&before="+all[5].ID))
	require.Equal(t, []string{"59"}, heard(t, owner, path+"limit=1&before=2999-01-01T00:00:00Z"))
	require.Empty(t, heard(t, owner, path+"before="+all[0].ID))
	require.Equal(t, "before", owner.Call(t, "GET", path+"before=x", nil).Problem(t, 400, "invalid_input").Errors[0].Field)
	require.Len(t, heard(t, owner, "/v1/streams/"+st.ID+"/chat?limit="), 50, "an empty limit is none")
	require.Len(t, heard(t, s.Register(t), "/v1/streams/"+st.ID+"/chat"), 50, "for any caller")
	require.Len(t, heard(t, s.With(t, "nonsense"), "/v1/streams/"+st.ID+"/chat"), 50)
}

func TestEditAndDeleteMessages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	ch := owner.Channel(t, nil)
	path := "/v1/me/channels/" + ch.ID + "/messages"
	var m, edited, deleted api.ChatMessage
	owner.Call(t, "POST", path, map[string]any{
		"body": "Hello", "authorId": "ada", "authorName": "Ada", "mentions": []string{"ben"}, "attachments": []any{map[string]any{"url": "https://a.example/x"}},
	}).Into(t, 201, &m)
	owner.Call(t, "PATCH", path+"/"+m.ID, map[string]any{"body": "Hello!"}).Into(t, 200, &edited)
	require.Equal(t, []any{m.ID, "Hello!", []string{"ben"}, m.CreatedAt, m.Attachments}, []any{
		edited.ID, edited.Body.MustGet(), edited.Mentions, edited.CreatedAt, edited.Attachments,
	})
	require.False(t, edited.EditedAt.IsNull())
	owner.Call(t, "PATCH", path+"/"+m.ID, map[string]any{"body": "Hello?", "mentions": []string{}}).Into(t, 200, &edited)
	require.Empty(t, edited.Mentions)

	answer := owner.Say(t, ch.ID, "ben", "what?")
	require.Equal(t, 201, answer.Status)
	owner.Call(t, "DELETE", path+"/"+m.ID+"?redactedBy=mod", nil).Into(t, 200, &deleted)
	require.True(t, deleted.Body.IsNull() && deleted.Redacted)
	require.Equal(t, []any{"mod", []string{}, "ada", "Ada"}, []any{deleted.RedactedBy.MustGet(), deleted.Mentions, deleted.AuthorID, deleted.AuthorName})
	require.Nil(t, deleted.Attachments)
	var again api.ChatMessage
	owner.Call(t, "DELETE", path+"/"+m.ID+"?redactedBy=other", nil).Into(t, 200, &again)
	require.Equal(t, deleted, again)
	owner.Call(t, "PATCH", path+"/"+m.ID, map[string]any{"body": "back"}).Problem(t, 409, "conflict")
	require.Equal(t, []string{"-", "what?"}, heard(t, owner, path))

	names, data := chatEvents(t, s, owner.TenantID, ch.ID)
	require.Equal(t, []string{
		"channel.member.joined", "channel.member.joined", "chat.message.created", "chat.message.edited", "chat.message.edited", "chat.message.created",
		"chat.message.deleted",
	}, names)
	require.Equal(t, map[string]any{
		"id": m.ID, "channelId": ch.ID, "authorId": "ada", "authorName": "Ada", "body": "Hello?", "mentions": []any{},
		"attachments": []any{map[string]any{"url": "https://a.example/x"}}, "createdAt": timestamp.Format(m.CreatedAt.Time),
		"editedAt": timestamp.Format(edited.EditedAt.MustGet().Time),
	}, data[4])
	require.Equal(t, map[string]any{"id": m.ID, "channelId": ch.ID, "redacted": true, "redactedBy": "mod"}, data[6])
	require.Equal(t, []apitest.Publication{
		{Room: ch.ID, Type: "chat.message", Data: data[2]}, {Room: ch.ID, Type: "chat.edited", Data: data[3]},
		{Room: ch.ID, Type: "chat.edited", Data: data[4]}, {Room: ch.ID, Type: "chat.message", Data: data[5]},
		{Room: ch.ID, Type: "chat.deleted", Data: data[6]},
	}, published(s, ch.ID))
	require.Equal(t, []string{"chat_message.delete"}, auditActions(t, s, owner.TenantID, "chat_message."))

	// Without a named user, the caller is the one who deletes.
	owner.Call(t, "DELETE", path+"/"+say(t, owner, ch.ID, "ada", "x").ID, nil).Into(t, 200, &deleted)
	require.Equal(t, owner.UserID, deleted.RedactedBy.MustGet())

	elsewhere := say(t, owner, owner.Channel(t, nil).ID, "ada", "x")
	for _, messageID := range []string{"msg_none", elsewhere.ID, "%00"} {
		owner.Call(t, "PATCH", path+"/"+messageID, map[string]any{"body": "x"}).Problem(t, 404, "not_found")
		owner.Call(t, "DELETE", path+"/"+messageID, nil).Problem(t, 404, "not_found")
	}
	for _, query := range []string{"?redactedBy=", "?redactedBy=" + strings.Repeat("a", 129), "?redactedBy=%00"} {
		owner.Call(t, "DELETE", path+"/"+elsewhere.ID+query, nil).Problem(t, 400, "invalid_input")
	}
}

// TestPermissionsInChats checks that a tenant's tokens need the scopes, and that
// only streams have a public history.
func TestPermissionsInChats(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	owner.Key(t, tenancy.ChatWrite).Say(t, st.ID, "ada", "x").Is(t, 201)
	owner.Key(t, tenancy.ChatRead).Say(t, st.ID, "ada", "x").Problem(t, 403, "forbidden")
	owner.Key(t, tenancy.ChatWrite).Call(t, "GET", "/v1/me/channels/"+st.ID+"/messages", nil).Problem(t, 403, "forbidden")
	s.With(t, "").Call(t, "GET", "/v1/me/channels/"+st.ID+"/messages", nil).Problem(t, 401, "unauthenticated")
}

// TestAParticipantChats checks the chat operations with a participant's token of the room.
func TestAParticipantChats(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	room, other := owner.Session(t, nil).ID, owner.Session(t, nil).ID
	host, guest := owner.Ticket(t, room, "ada", nil), owner.Ticket(t, room, "ben", map[string]any{"displayName": "Ben Sato"})
	path := channelsPath + "/" + room + "/messages"
	m := say(t, guest.Caller, room, "ben", "Hello")
	require.Equal(t, "Ben Sato", m.AuthorName)
	guest.Say(t, room, "ada", "I am ada").Problem(t, 403, "forbidden")
	require.Equal(t, []string{"Hello"}, heard(t, host.Caller, path))
	require.Equal(t, []string{"Hello"}, heard(t, guest.Caller, path+"?limit=1"))
	guest.Call(t, "PATCH", path+"/"+m.ID, map[string]any{"body": "Hello!"}).Is(t, 200)
	host.Call(t, "PATCH", path+"/"+m.ID, map[string]any{"body": "Bye"}).Problem(t, 403, "forbidden")
	guest.Say(t, other, "ben", "x").Problem(t, 404, "not_found")
	guest.Call(t, "GET", channelsPath+"/"+other+"/messages", nil).Problem(t, 404, "not_found")
	for _, p := range []string{"", "/members", "/moderation"} { // only the tenant's own server may read these
		guest.Call(t, "GET", channelsPath+"/"+room+p, nil).Problem(t, 401, "unauthenticated")
	}
	body := map[string]any{"target": "ada", "by": "ben", "durationSec": 60, "slowmodeSec": 60}
	for _, kind := range []string{"timeout", "ban", "mute", "slowmode"} {
		guest.Call(t, "POST", channelsPath+"/"+room+"/moderate/"+kind, body).Problem(t, 403, "forbidden")
	}
	body["target"], body["by"] = "ben", "ada"
	guest.Call(t, "POST", channelsPath+"/"+room+"/moderate/mute", body).Problem(t, 403, "forbidden")
	host.Call(t, "POST", channelsPath+"/"+room+"/moderate/mute", body).Is(t, 201)
	guest.Say(t, room, "ben", "x").Problem(t, 403, "muted")
	host.Call(t, "DELETE", path+"/"+m.ID, nil).Is(t, 200)
	require.Equal(t, []string{"-"}, heard(t, guest.Caller, path))
	host.Call(t, "POST", channelsPath+"/"+room+"/moderate/ban", body).Is(t, 201)
	guest.Call(t, "GET", path, nil).Problem(t, 403, "banned")
	guest.Say(t, room, "ben", "x").Problem(t, 403, "banned")

	var actor string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT actor_type || ' ' || actor_id FROM audit_entries WHERE tenant_id = $1 AND action = 'channel.ban'",
		owner.TenantID).Scan(&actor))
	require.Equal(t, "participant ada", actor)

	// A stream's chat has two routes to the same channel.
	st := owner.Stream(t, nil)
	var token api.SfuToken
	owner.Call(t, "POST", "/v1/me/streams/"+st.ID+"/sfu-token", map[string]any{"userId": "cyd", "role": "viewer"}).Into(t, 201, &token)
	viewer := s.With(t, token.Token)
	viewer.Call(t, "POST", "/v1/me/streams/"+st.ID+"/chat", map[string]any{"body": "Hi", "authorId": "cyd", "authorName": "Cyd"}).Is(t, 201)
	viewer.Call(t, "POST", "/v1/me/streams/"+owner.Stream(t, nil).ID+"/chat", map[string]any{"body": "Hi", "authorId": "cyd", "authorName": "Cyd"}).
		Problem(t, 404, "not_found")
	require.Equal(t, []string{"Hi"}, heard(t, viewer, channelsPath+"/"+st.ID+"/messages"))
}

// TestAMessageThatIsSentTwiceIsWrittenOnce sends messages with an Idempotency-Key. The
// second request gets the answer of the first, also while that one is in progress.
func TestAMessageThatIsSentTwiceIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, room := owner.Stream(t, nil).ID, owner.Session(t, nil).ID
	guest := owner.Ticket(t, room, "ada", nil)
	for path, c := range map[string]*apitest.Caller{"/v1/me/streams/" + st + "/chat": owner, channelsPath + "/" + room + "/messages": guest.Caller} {
		send := func(key string) apitest.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(`{"body":"Hi","authorId":"ada","authorName":"Ada"}`))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key)
			return c.Do(t, r)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { send("one") })
		}
		wg.Wait()
		var first, again, other api.ChatMessage
		send("one").Into(t, 201, &first)
		send("one").Into(t, 201, &again)
		require.Equal(t, first, again)
		send("two").Into(t, 201, &other)
		require.NotEqual(t, first.ID, other.ID)
	}
	for _, channelID := range []string{st, room} {
		require.Equal(t, []string{"Hi", "Hi"}, heard(t, owner, channelsPath+"/"+channelID+"/messages"))
	}
}

// TestPublicHistoryIsLimitedByAddress checks that the limit is the same for every caller.
func TestPublicHistoryIsLimitedByAddress(t *testing.T) {
	t.Parallel()
	const burst = 3
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Public: hourly(burst)}, TrustedProxies: loopback()})
	owner := s.Register(t)
	path := "/v1/streams/" + owner.Stream(t, nil).ID + "/chat"
	for range burst {
		behind(t, s.With(t, ""), s, "203.0.113.7", "GET", path, "").Is(t, 200)
	}
	require.NotEmpty(t, behind(t, owner, s, "203.0.113.7", "GET", path, "").Is(t, 429).Header.Get("Retry-After"))
	behind(t, s.With(t, ""), s, "203.0.113.8", "GET", path, "").Is(t, 200)
}
