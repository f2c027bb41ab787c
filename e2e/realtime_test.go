package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/realtimetest"
	"showfloor/internal/testkit/redistest"
)

// pair is two processes on one database and one Redis.
type pair struct {
	one, two *server
	redis    *redistest.Server
	// a calls the first server.
	a *tenant
}

func servePair(t testing.TB, more ...option) *pair {
	t.Helper()
	p := &pair{redis: redistest.New(t)}
	key := make([]byte, 32)
	_, err := rand.Read(key)
	require.NoError(t, err)
	shared := []option{
		set("DATABASE_URL", dbtest.New(t).Config().ConnString()), set("REDIS_URL", p.redis.URL),
		set("MASTER_KEY", base64.StdEncoding.EncodeToString(key)),
	}
	shared = append(shared, more...)
	p.one, p.two = serve(t, shared...), serve(t, shared...)
	p.a = signUp(t, p.one)
	return p
}

// room creates a session of the pair's tenant.
func (p *pair) room(t testing.TB) string {
	t.Helper()
	body := api.SessionInput{Type: api.SessionInputTypeConference, HostID: "ada", Name: "Planning"}
	return created(p.a.CreateSessionWithResponse(t.Context(), body))(t).ID
}

// ticket creates a user's token.
func (p *pair) ticket(t testing.TB, room, userID string) string {
	t.Helper()
	return created(p.a.CreateSessionTokenWithResponse(t.Context(), room, api.SessionTokenInput{UserID: userID}))(t).Token
}

// figure returns one of a server's metrics.
func (s *server) figure(t testing.TB, name string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.admin+"/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestRoomsReachOverTwoServers checks that messages and decisions through one
// process reach clients that are connected to the other.
func TestRoomsReachOverTwoServers(t *testing.T) {
	t.Parallel()
	p := servePair(t)
	require.Contains(t, p.one.said(), "Redis at REDIS_URL")
	room := p.room(t)
	adaToken, boToken := p.ticket(t, room, "ada"), p.ticket(t, room, "bo")
	ada, adaHears := realtimetest.Watch(t, p.one.url, adaToken, room)
	bo, boHears := realtimetest.Watch(t, p.two.url, boToken, room)
	tenant, _ := realtimetest.Watch(t, p.two.url, p.a.apiKey, room)
	ada.NextOf(t, realtimetest.Joined, func(e realtimetest.Event) bool { return e.User == "bo" })

	// A message.
	created(p.a.SendChannelMessageWithResponse(t.Context(), room, api.ChatMessageInput{
		AuthorID: "ada", AuthorName: "Ada", Body: "Hello!",
	}))(t)
	for _, c := range []*realtimetest.Client{ada, bo, tenant} {
		require.Equal(t, "Hello!", c.NextType(t, realtime.ChatMessage).Data["body"])
	}

	// Product pins and hearts.
	product := created(p.a.UpsertProductWithResponse(t.Context(), api.ProductInput{ExternalID: "mug", Name: "Mug", PriceCents: 1999}))(t)
	pin := []byte(`{"type":"prod-pin","data":{"id":"` + product.ID + `"}}`)
	_, err := boHears.Publish(t.Context(), pin)
	require.Equal(t, uint32(103), realtimetest.Code(err), "a guest doesn't pin")
	_, err = adaHears.Publish(t.Context(), pin)
	require.NoError(t, err)
	require.Equal(t, product.ID, bo.NextType(t, realtime.ProductPin).Data["id"])
	_, err = boHears.Publish(t.Context(), []byte(`{"type":"heart","data":{"count":3}}`))
	require.NoError(t, err)
	require.EqualValues(t, 3, ada.NextType(t, realtime.Heart).Data["count"])

	// The role is changed through the process to which bo isn't connected.
	role := api.ParticipantRoleCohost
	patched, err := p.a.UpdateSessionParticipantWithResponse(t.Context(), room, "bo", api.ParticipantPatch{Role: &role})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, patched.StatusCode(), "%s", patched.Body)
	require.Equal(t, "cohost", bo.NextType(t, realtime.SessionParticipantUpdated).Data["role"])
	found, err := adaHears.Presence(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Clients, 2)
	for _, one := range found.Clients {
		if one.User == "bo" {
			require.Contains(t, string(one.ChanInfo), `"role":"cohost"`)
		}
	}
	_, err = boHears.Publish(t.Context(), pin)
	require.Equal(t, uint32(103), realtimetest.Code(err), "a cohost can't either")

	// A kick.
	kicked, err := p.a.KickSessionParticipantWithResponse(t.Context(), room, "bo")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, kicked.StatusCode(), "%s", kicked.Body)
	require.Equal(t, uint32(4500), bo.Next(t, realtimetest.Disconnected).Code)
	for _, s := range []*server{p.one, p.two} {
		again := realtimetest.New(t, s.url, realtimetest.Options{Token: boToken})
		require.Equal(t, uint32(4500), again.Next(t, realtimetest.Disconnected).Code)
	}
	require.Equal(t, "bo", ada.NextOf(t, realtimetest.Left, func(e realtimetest.Event) bool { return e.User == "bo" }).User)
	until(t, "the connections are counted", func() bool {
		return p.one.figure(t, "showfloor_realtime_connections") == "1" && p.two.figure(t, "showfloor_realtime_connections") == "1"
	})
}

// TestAClientMovesToTheOtherServer checks that a server that stops disconnects
// its clients, and that they receive the missed publications from another one.
func TestAClientMovesToTheOtherServer(t *testing.T) {
	t.Parallel()
	p := servePair(t)
	room := p.room(t)
	// The client connects to one address, which leads to one server or the other.
	connected := make(chan string, 1)
	connected <- p.two.url
	dial := realtimetest.Balance(func() string {
		at := <-connected
		connected <- at
		return at
	})
	c := realtimetest.New(t, p.two.url, realtimetest.Options{Token: p.ticket(t, room, "ada"), Dial: dial})
	c.Hear(t, room)
	c.Next(t, realtimetest.Subscribed)
	say := func(text string) {
		created(p.a.SendChannelMessageWithResponse(t.Context(), room, api.ChatMessageInput{
			AuthorID: "ada", AuthorName: "Ada", Body: text,
		}))(t)
	}
	say("one")
	require.Equal(t, "one", c.NextType(t, realtime.ChatMessage).Data["body"])
	<-connected
	connected <- "http://127.0.0.1:1" // no server listens there
	c.Next(t, realtimetest.Connecting)
	require.Zero(t, p.two.terminate(t))
	require.Equal(t, uint32(3001), c.Next(t, realtimetest.Connecting).Code)
	say("two")
	<-connected
	connected <- p.one.url
	require.Equal(t, "two", c.NextType(t, realtime.ChatMessage).Data["body"])
	require.True(t, c.Next(t, realtimetest.Subscribed).Recovered)
}

// TestRedisOfTheRealtimeChannelGoesAway checks that the server reports the
// failure and keeps all other functions, and that its clients receive
// publications again once Redis is back.
func TestRedisOfTheRealtimeChannelGoesAway(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	redis.Stop(t)
	s := serve(t, onTestDatabase, set("REDIS_URL", redis.URL))
	require.Contains(t, s.said(), "Redis at REDIS_URL, not reached yet")
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	c := realtimetest.New(t, s.url, realtimetest.Options{Token: a.apiKey})
	c.Hear(t, stream.ID)
	c.Next(t, realtimetest.Failed)
	ready, err := a.GetReadinessWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, ready.StatusCode(), "the server is of use all the same")
	require.Contains(t, string(ready.Body), `"engine":"Redis at REDIS_URL, not reached yet"`)
	redis.Start(t)
	c.Next(t, realtimetest.Subscribed)
	until(t, "it is well again", func() bool {
		ready, err := a.GetReadinessWithResponse(t.Context())
		return err == nil && !strings.Contains(string(ready.Body), "failing") &&
			strings.Contains(string(ready.Body), `"engine":"Redis at REDIS_URL","name":"realtime","status":"ok"`)
	})
}
