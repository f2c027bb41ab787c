package roomgate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/roomgate"
	"showfloor/internal/testkit/apitest"
)

func TestATokenOfTheMainRoomSubscribesToItsBreakouts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	session := owner.Session(t, nil)
	ben, cleo := owner.Ticket(t, session.ID, "ben", nil), owner.Ticket(t, session.ID, "cleo", nil)
	var rooms []api.Session
	owner.Call(t, "POST", "/v1/me/sessions/"+session.ID+"/breakouts", map[string]any{
		"count": 1, "assignments": map[string]any{"1": []string{"ben"}},
	}).Into(t, 201, &rooms)
	gate := roomgate.NewRealtime(s.Accounts, s.Sessions, s.Chat)
	who, err := gate.Authenticate(t.Context(), ben.Token, rooms[0].ID)
	require.NoError(t, err)
	require.Equal(t, rooms[0].ID, who.Room)
	found, err := gate.Participants(t.Context(), who.TenantID, who.Room, []string{"ben"})
	require.NoError(t, err)
	require.Equal(t, realtime.Inside, found["ben"].State)
	for _, own := range []string{"", session.ID} {
		who, err := gate.Authenticate(t.Context(), ben.Token, own)
		require.NoError(t, err)
		require.Equal(t, session.ID, who.Room)
	}
	for _, other := range []string{owner.Session(t, nil).ID, id.New(id.Session), "str_x"} {
		_, err := gate.Authenticate(t.Context(), ben.Token, other)
		require.True(t, problem.Is(err, "forbidden"), "%v", err)
	}
	_, err = gate.Authenticate(t.Context(), cleo.Token, rooms[0].ID)
	require.True(t, problem.Is(err, "forbidden"), "%v", err)
}
