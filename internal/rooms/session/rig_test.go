package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// rig is a tenant with a session whose host is ada.
type rig struct {
	*apitest.Server

	owner *apitest.Caller
	// caller is the tenant's own server.
	caller tenancy.Caller
	room   string
}

// newRig opens a session; fields replace or add to the request's body.
func newRig(t *testing.T, fields map[string]any) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, owner.Session(t, fields).ID}
}

// row is the session's row in the database.
func (r *rig) row(t *testing.T) db.Session {
	t.Helper()
	row, err := db.New(r.Pool).GetSession(t.Context(), db.GetSessionParams{TenantID: r.owner.TenantID, ID: r.room})
	require.NoError(t, err)
	return row
}

// participant is a participant's row in the database.
func (r *rig) participant(t *testing.T, userID string) db.Participant {
	t.Helper()
	p, err := db.New(r.Pool).GetParticipant(t.Context(), db.GetParticipantParams{TenantID: r.owner.TenantID, RoomID: r.room, UserID: userID})
	require.NoError(t, err)
	return p
}

// counted compares the session's counters with its participants.
func (r *rig) counted(t *testing.T) {
	t.Helper()
	var seats, present int32
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FILTER (WHERE seat <> 'none'), count(*) FILTER (WHERE state = 'joined') FROM participants WHERE room_id = $1", r.room).
		Scan(&seats, &present))
	row := r.row(t)
	require.Equal(t, []int32{seats, present}, []int32{row.Seats, row.Present}, "seats and present")
}

func (r *rig) patch(t *testing.T, body map[string]any) (got api.Session) {
	t.Helper()
	r.owner.Call(t, "PATCH", "/v1/me/sessions/"+r.room, body).Into(t, 200, &got)
	return got
}

// token requests a token without HTTP.
func (r *rig) token(t *testing.T, userID string) error {
	t.Helper()
	_, err := r.Sessions.CreateSessionToken(t.Context(), r.caller, r.room, session.TokenInput{UserID: userID})
	return err
}

// events returns the names and data of the session's events.
func (r *rig) events(t *testing.T) (names []string, data []map[string]any) {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Subject != r.room {
			continue
		}
		var body struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(e.Payload, &body))
		names, data = append(names, e.Event), append(data, body.Data)
	}
	return names, data
}

// refused requires a problem with this code.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	require.True(t, problem.Is(err, code), "%v", err)
}
