package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

const sessionsPath = "/v1/me/sessions"

// sessionEvents returns the names of the events about a session in order.
func sessionEvents(t *testing.T, s *apitest.Server, of api.Session, owner *apitest.Caller) []string {
	t.Helper()
	names, _ := eventsOf(t, s, owner.TenantID, of.ID)
	return names
}

func TestCreateSession(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE has smaller sessions
	for sessionType, want := range map[string]struct {
		layout   string
		capacity int
		role     string
	}{
		"conference": {"grid", 50, "guest"}, "webinar": {"speaker", 1000, "viewer"}, "livestream": {"spotlight", 10000, "viewer"},
	} {
		got := owner.Session(t, map[string]any{"type": sessionType, "inviteUserIds": []string{"cleo", "ben", "cleo", "ada"}})
		require.Equal(t, api.SessionState("live"), got.State)
		require.Equal(t, []any{api.SessionType(sessionType), "Weekly planning", "ada", want.capacity, api.SessionLayout(want.layout), 0},
			[]any{got.Type, got.Name, got.HostID, got.Capacity, got.Layout, got.ParticipantCount})
		require.Equal(t, []string{"cleo", "ben", "ada"}, got.InviteUserIds, "each once, in the order of their invitation")
		require.False(t, got.RecordingEnabled || got.TranscriptionEnabled || got.WaitingRoom || got.Locked)
		require.True(t, got.ProjectID.IsNull() && got.EndedAt.IsNull() && got.ParentSessionID.IsNull() && got.SpotlightUserID.IsNull())
		require.Equal(t, s.Clock.Now(), got.StartedAt.MustGet().Time)
		require.Nil(t, got.Participants)
		require.Equal(t, api.ParticipantRole("host"), owner.Ticket(t, got.ID, "ada", map[string]any{"role": "viewer"}).Role)
		require.Equal(t, api.ParticipantRole(want.role), owner.Ticket(t, got.ID, "ben", map[string]any{"role": "cohost"}).Role, "as invited")
		require.Equal(t, api.ParticipantRole(want.role), owner.Ticket(t, got.ID, "dora", nil).Role, "as the type has it")
		require.Equal(t, api.ParticipantRole("cohost"), owner.Ticket(t, got.ID, "eve", map[string]any{"role": "cohost"}).Role)
		require.Equal(t, []string{"session.created"}, sessionEvents(t, s, got, owner))
	}
	full := owner.Session(t, map[string]any{
		"projectId": "launch", "capacity": 2, "recordingEnabled": true, "transcriptionEnabled": true, "waitingRoom": true, "layout": "sidebar",
	})
	require.True(t, full.RecordingEnabled && full.TranscriptionEnabled && full.WaitingRoom)
	require.Equal(t, []any{"launch", 2, api.SessionLayout("sidebar")}, []any{full.ProjectID.MustGet(), full.Capacity, full.Layout})
	require.Empty(t, full.InviteUserIds)
	var got api.Session
	owner.Call(t, "GET", sessionsPath+"/"+full.ID, nil).Into(t, 200, &got)
	require.Equal(t, full, got)
	require.Equal(t, []string{"session.create", "session.create", "session.create", "session.create"}, auditActions(t, s, owner.TenantID, "session."))
	require.Empty(t, s.Published(), "a new room has no subscribers")
}

func TestSessionInput(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	base := `"type":"conference","name":"n","hostId":"ada"`
	for body, field := range map[string]string{
		`{}`: "type",
		`{` + strings.Replace(base, "conference", "call", 1) + `}`:                                       "type",
		`{` + strings.Replace(base, `"n"`, `" "`, 1) + `}`:                                               "name",
		`{` + strings.Replace(base, `"ada"`, `""`, 1) + `}`:                                              "hostId",
		`{` + strings.Replace(base, `"ada"`, `"a\u0000"`, 1) + `}`:                                       "hostId",
		`{` + base + `,"capacity":1}`:                                                                    "capacity",
		`{` + base + `,"capacity":51}`:                                                                   "capacity",
		`{` + strings.Replace(base, "conference", "webinar", 1) + `,"capacity":1001}`:                    "capacity",
		`{` + strings.Replace(base, "conference", "livestream", 1) + `,"capacity":10001}`:                "capacity",
		`{` + base + `,"layout":"circle"}`:                                                               "layout",
		`{` + base + `,"waitingRoom":"yes"}`:                                                             "waitingRoom",
		`{` + base + `,"inviteUserIds":["` + strings.Repeat("b", 129) + `"]}`:                            "inviteUserIds.0",
		`{` + base + `,"inviteUserIds":[` + strings.TrimSuffix(strings.Repeat(`"b",`, 1001), ",") + `]}`: "inviteUserIds",
		`{` + base + `,"projectId":""}`:                                                                  "projectId",
	} {
		p := owner.Call(t, "POST", sessionsPath, body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	st := owner.Session(t, nil)
	for body, field := range map[string]string{
		`{}`: "userId", `{"userId":" "}`: "userId", `{"userId":"u","role":"king"}`: "role", `{"userId":"u","displayName":""}`: "displayName",
	} {
		p := owner.Call(t, "POST", sessionsPath+"/"+st.ID+"/token", body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	for body, field := range map[string]string{
		`{"capacity":51}`: "capacity", `{"capacity":1}`: "capacity", `{"name":""}`: "name", `{"layout":"x"}`: "layout", `{"locked":1}`: "locked",
	} {
		p := owner.Call(t, "PATCH", sessionsPath+"/"+st.ID, body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field, body)
	}
	owner.Call(t, "GET", sessionsPath+"?type=party", nil).Problem(t, 400, "invalid_input")
	owner.Call(t, "GET", sessionsPath+"?cursor=str_x", nil).Problem(t, 400, "invalid_input")
}

func TestCreateSessionToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Session(t, nil)
	var token api.SessionToken
	owner.SessionToken(t, st.ID, "ben", map[string]any{"displayName": "Ben Sato"}).Into(t, 201, &token)
	require.Equal(t, apitest.SFUURL, token.SfuURL)
	require.Equal(t, api.ParticipantRole("guest"), token.Role)
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true}, token.Perms)
	require.Equal(t, s.Clock.Now().Add(6*time.Hour).Truncate(time.Second), token.ExpiresAt.Truncate(time.Second))
	require.Equal(t, "Ben Sato", owner.Participant(t, st.ID, "ben").DisplayName)
	owner.Ticket(t, st.ID, "ben", nil)
	require.Equal(t, "Ben Sato", owner.Participant(t, st.ID, "ben").DisplayName, "the name is kept")
	require.Equal(t, "cleo", owner.Participant(t, st.ID, owner.Ticket(t, st.ID, "cleo", nil).UserID).DisplayName)
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true, Screen: true}, owner.Ticket(t, st.ID, "ada", nil).Perms)

	// The token has the values from the time of its issue. The current state is not in it.
	require.Equal(t, map[string]any{
		"tid": owner.TenantID, "room": st.ID, "typ": "participant", "sub": "ben", "name": "Ben Sato", "role": "guest",
		"perms": map[string]any{"audio": true, "video": true, "screen": false},
	}, claimsOf(t, token.Token, "tid", "room", "typ", "sub", "name", "role", "perms"))
	owner.Call(t, "PATCH", sessionsPath+"/"+st.ID+"/participants/ben", map[string]any{"role": "viewer"}).Is(t, 200)
	require.Equal(t, "viewer", owner.Participant(t, st.ID, "ben").Role)

	for _, other := range []string{"mallory", "ben"} { // an unknown user, and a guest
		owner.SessionToken(t, st.ID, other, map[string]any{"role": "host"}).Problem(t, 409, "conflict")
	}
	require.Equal(t, "unknown", owner.Participant(t, st.ID, "mallory").Gone)
}

// claimsOf returns these claims of a token.
func claimsOf(t *testing.T, token string, names ...string) map[string]any {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	require.NoError(t, err)
	all, some := map[string]any{}, map[string]any{}
	require.NoError(t, json.Unmarshal(raw, &all))
	for _, name := range names {
		some[name] = all[name]
	}
	return some
}

// TestATokensHolderSeesItsOwnSessionAlone checks participants of each role. Other
// sessions of the tenant answer 404, like those of other tenants.
func TestATokensHolderSeesItsOwnSessionAlone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st, other, foreign := owner.Session(t, nil), owner.Session(t, nil), s.Register(t).Session(t, nil)
	guest := owner.Ticket(t, st.ID, "ben", nil)
	var got api.Session
	guest.Call(t, "GET", sessionsPath+"/"+st.ID, nil).Into(t, 200, &got)
	require.Equal(t, st.ID, got.ID)
	missing := guest.Call(t, "GET", sessionsPath+"/sess_none", nil).Problem(t, 404, "not_found").Message
	for _, host := range []*apitest.Guest{guest, owner.Ticket(t, st.ID, "ada", nil)} {
		for _, id := range []string{other.ID, foreign.ID} {
			for method, path := range map[string]string{"GET": id, "PATCH": id, "POST": id + "/end"} {
				require.Equal(t, missing, host.Call(t, method, sessionsPath+"/"+path, map[string]any{}).Problem(t, 404, "not_found").Message, method)
			}
		}
		// Operations for the tenant's own server need its token.
		for path, body := range map[string]map[string]any{"": {"type": "conference", "name": "n", "hostId": "x"}, "/" + st.ID + "/token": {"userId": "x"}} {
			host.Call(t, "POST", sessionsPath+path, body).Problem(t, 401, "unauthenticated")
		}
		host.Call(t, "GET", sessionsPath, nil).Problem(t, 401, "unauthenticated")
		host.Call(t, "GET", sessionsPath+"/"+st.ID+"/summary", nil).Problem(t, 401, "unauthenticated")
	}
	s.Clock.Advance(6 * time.Hour)
	guest.Call(t, "GET", sessionsPath+"/"+st.ID, nil).Problem(t, 401, "token_expired")
}

// TestOnlyTheHostsTokenChangesASession checks that the role is the one that its row
// has now.
func TestOnlyTheHostsTokenChangesASession(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Session(t, map[string]any{"waitingRoom": true})
	host, cohost := owner.Ticket(t, st.ID, "ada", nil), owner.Ticket(t, st.ID, "cleo", map[string]any{"role": "cohost"})
	guest := owner.Ticket(t, st.ID, "ben", nil)
	path := sessionsPath + "/" + st.ID
	for _, g := range []*apitest.Guest{cohost, guest} {
		g.Call(t, "PATCH", path, map[string]any{"name": "x"}).Problem(t, 403, "forbidden")
		g.Call(t, "POST", path+"/end", nil).Problem(t, 403, "forbidden")
	}
	var got api.Session
	host.Call(t, "PATCH", path, map[string]any{"layout": "speaker", "locked": true, "waitingRoom": false}).Into(t, 200, &got)
	require.Equal(t, []any{api.SessionLayout("speaker"), true, false}, []any{got.Layout, got.Locked, got.WaitingRoom})
	names, data := eventsOf(t, s, owner.TenantID, st.ID)
	require.Equal(t, []string{"session.created", "session.updated", "session.participant.updated"}, names)
	require.Equal(t, []any{"layout", "locked", "waitingRoom"}, data[1]["changed"])
	require.Equal(t, "ada", data[2]["by"])
	require.Equal(t, []string{"session.updated", "session.participant.updated"}, publishedTypes(s))

	host.Call(t, "PATCH", path, map[string]any{"layout": "speaker", "locked": true}).Is(t, 200)
	host.Call(t, "PATCH", path, map[string]any{}).Is(t, 200)
	host.Call(t, "PATCH", path, map[string]any{"name": "Other", "recordingEnabled": true, "transcriptionEnabled": true}).Into(t, 200, &got)
	require.Equal(t, []any{"Other", true, true}, []any{got.Name, got.RecordingEnabled, got.TranscriptionEnabled})
	require.Len(t, sessionEvents(t, s, st, owner), 3, "nothing to tell of")

	var end api.SessionEnding
	host.Call(t, "POST", path+"/end", nil).Into(t, 201, &end)
	require.Equal(t, api.SessionState("ended"), end.State)
	host.Call(t, "POST", path+"/end", nil).Is(t, 201)
	host.Call(t, "PATCH", path, map[string]any{"name": "x"}).Problem(t, 409, "conflict")
	guest.Call(t, "GET", path, nil).Into(t, 200, &got)
	require.Equal(t, end.EndedAt, got.EndedAt.MustGet())
	owner.SessionToken(t, st.ID, "ada", nil).Problem(t, 409, "conflict")
	require.Equal(t, []string{"session.create", "session.update", "session.update", "session.end"}, auditActions(t, s, owner.TenantID, "session."))
	var by string
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT actor_type || ' ' || actor_id FROM audit_entries WHERE tenant_id = $1 AND action = 'session.end'", owner.TenantID).Scan(&by))
	require.Equal(t, "participant ada", by)
}

// publishedTypes returns the types of the publications so far.
func publishedTypes(s *apitest.Server) (types []string) {
	for _, p := range s.Published() {
		types = append(types, p.Type)
	}
	return types
}

func TestCreateSfuToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	path := "/v1/me/streams/" + st.ID + "/sfu-token"
	var viewer, again api.SfuToken
	owner.Call(t, "POST", path, nil).Into(t, 201, &viewer)
	require.Equal(t, []any{st.ID, apitest.SFUURL, api.ParticipantRole("viewer"), api.ParticipantPerms{}},
		[]any{viewer.Room, viewer.SfuURL, viewer.Role, viewer.Perms})
	owner.Call(t, "POST", path, map[string]any{}).Into(t, 201, &again)
	room := map[string]bool{}
	for _, token := range []api.SfuToken{viewer, again} {
		ticket, err := s.Sessions.AuthenticateParticipant(t.Context(), token.Token)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(ticket.UserID, "guest_"))
		room[ticket.UserID] = true
	}
	require.Len(t, room, 2, "two unnamed viewers are two")

	var host api.SfuToken
	owner.Call(t, "POST", path, map[string]any{"userId": "ada", "displayName": "Ada", "role": "host"}).Into(t, 201, &host)
	require.Equal(t, api.ParticipantPerms{Audio: true, Video: true, Screen: true}, host.Perms)
	g := owner.Participant(t, st.ID, "ada")
	require.Equal(t, []any{"Ada", "host", "invited", ""}, []any{g.DisplayName, g.Role, g.State, g.Gone})
	owner.Call(t, "POST", path, map[string]any{"userId": "ada"}).Is(t, 201)
	g = owner.Participant(t, st.ID, "ada")
	require.Equal(t, []any{"Ada", "viewer"}, []any{g.DisplayName, g.Role}, "as the latest token was made")

	for _, id := range []string{"str_none", s.Register(t).Stream(t, nil).ID} {
		owner.Call(t, "POST", "/v1/me/streams/"+id+"/sfu-token", nil).Problem(t, 404, "not_found")
	}
	for body, field := range map[string]string{`{"role":"king"}`: "role", `{"userId":" "}`: "userId", `{"displayName":""}`: "displayName"} {
		require.Equal(t, field, owner.Call(t, "POST", path, body).Problem(t, 400, "invalid_input").Errors[0].Field, body)
	}
	s.With(t, host.Token).Call(t, "GET", sessionsPath+"/"+st.ID, nil).Problem(t, 404, "not_found")
}

// TestAskingTwiceWithOneKeyMakesOneToken checks that the answer is stored with the
// token, also if several requests are decided in one transaction.
func TestAskingTwiceWithOneKeyMakesOneToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	path := sessionsPath + "/" + owner.Session(t, nil).ID + "/token"
	ask := func(key, user string) apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(`{"userId":"`+user+`"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		return owner.Do(t, r)
	}
	users := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	first := make([]apitest.Response, len(users))
	var wg sync.WaitGroup
	for i, user := range users {
		wg.Go(func() { first[i] = ask("key-"+user, user) })
	}
	wg.Wait()
	for i, user := range users {
		again := ask("key-"+user, user)
		require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
		require.Equal(t, string(first[i].Is(t, 201).Body), string(again.Body))
	}
}
