package apitest

import (
	"maps"
	"net/http"
	"testing"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/rooms/session"
)

// SFUURL is the URL of the test servers' SFU.
const SFUURL = "wss://sfu.example.test/sfu"

// Session creates a conference whose host is ada; fields replace or add to the
// request's body.
func (c *Caller) Session(t testing.TB, fields map[string]any) api.Session {
	t.Helper()
	body := map[string]any{"type": "conference", "name": "Weekly planning", "hostId": "ada"}
	maps.Copy(body, fields)
	var s api.Session
	c.Call(t, "POST", "/v1/me/sessions", body).Into(t, http.StatusCreated, &s)
	return s
}

// SessionToken requests a token for a user; fields add to the request's body.
func (c *Caller) SessionToken(t testing.TB, sessionID, userID string, fields map[string]any) Response {
	t.Helper()
	body := map[string]any{"userId": userID}
	maps.Copy(body, fields)
	return c.Call(t, "POST", "/v1/me/sessions/"+sessionID+"/token", body)
}

// Guest is a participant with a token: a caller with that token, and a connection
// after Enter.
type Guest struct {
	*Caller

	RoomID, UserID, ConnID string
	Role                   api.ParticipantRole
	Perms                  api.ParticipantPerms
}

// Ticket creates a user's token for a session; fields add to the request's body.
func (c *Caller) Ticket(t testing.TB, sessionID, userID string, fields map[string]any) *Guest {
	t.Helper()
	var token api.SessionToken
	c.SessionToken(t, sessionID, userID, fields).Into(t, http.StatusCreated, &token)
	g := &Guest{Caller: c.server.With(t, token.Token), RoomID: sessionID, UserID: userID, Role: token.Role, Perms: token.Perms}
	g.TenantID = c.TenantID
	return g
}

// Viewer creates a user's token for a stream's room; fields such as role add to the request's body.
func (c *Caller) Viewer(t testing.TB, streamID, userID string, fields map[string]any) *Guest {
	t.Helper()
	body := map[string]any{"userId": userID}
	maps.Copy(body, fields)
	var token api.SfuToken
	c.Call(t, "POST", "/v1/me/streams/"+streamID+"/sfu-token", body).Into(t, http.StatusCreated, &token)
	g := &Guest{Caller: c.server.With(t, token.Token), RoomID: streamID, UserID: userID, Role: token.Role, Perms: token.Perms}
	g.TenantID = c.TenantID
	return g
}

// Join creates a user's token and enters the session, like a connection to the SFU does.
func (c *Caller) Join(t testing.TB, sessionID, userID string, fields map[string]any) *Guest {
	t.Helper()
	g := c.Ticket(t, sessionID, userID, fields)
	_, err := g.Enter(t, g.RoomID)
	must(t, err)
	return g
}

// Enter enters a room with a new connection.
func (g *Guest) Enter(t testing.TB, roomID string) (session.Grant, error) {
	t.Helper()
	g.ConnID = id.New(id.Connection)
	return g.server.Sessions.Enter(t.Context(), session.EnterInput{Token: g.Token, RoomID: roomID, ConnID: g.ConnID})
}

// Leave ends the guest's connection without a reconnect.
func (g *Guest) Leave(t testing.TB) {
	t.Helper()
	must(t, g.server.Sessions.Leave(t.Context(), g.TenantID, g.RoomID, g.UserID, g.ConnID))
}

// Participant returns the state of a user in a session.
func (c *Caller) Participant(t testing.TB, sessionID, userID string) session.Grant {
	t.Helper()
	g, err := c.server.Sessions.GetGrant(t.Context(), c.TenantID, sessionID, userID)
	must(t, err)
	return g
}
