package session_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestModeratorsActAtOnce: moderators act in a session and its breakout rooms, on
// two servers, while participants enter and leave. Operations fail only with
// problems, there is no deadlock, and the counters of seats and participants are
// right in the end.
func TestModeratorsActAtOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	servers := []*apitest.Server{apitest.New(t, apitest.Options{Pool: pool}), apitest.New(t, apitest.Options{Pool: pool})}
	owner := servers[0].Register(t)
	c := tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}
	parent := owner.Session(t, nil)
	var users []string
	for n := range 6 {
		users = append(users, fmt.Sprintf("user-%d", n))
		owner.Join(t, parent.ID, users[n], nil)
	}
	rooms, err := servers[0].Sessions.CreateBreakouts(t.Context(), c, parent.ID, 2, map[string][]string{"1": users[:3], "2": users[3:]}, 0)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for n := range 8 {
		s := servers[n%2].Sessions
		wg.Go(func() {
			for i := range 12 {
				user, room := users[(n+i)%len(users)], rooms[i%2].ID
				ada := tenancy.Caller{TenantID: owner.TenantID, Participant: &tenancy.Participant{RoomID: parent.ID, UserID: "ada"}}
				_, cohost := s.PromoteSessionParticipant(t.Context(), c, parent.ID, user, session.Cohost)
				_, muted := s.MuteAllParticipants(t.Context(), ada, room, true)
				_, out := s.KickSessionParticipant(t.Context(), c, parent.ID, user)
				_, in := s.AdmitSessionParticipant(t.Context(), c, parent.ID, user)
				_, role := s.UpdateSessionParticipant(t.Context(), c, parent.ID, user, session.ParticipantPatch{Role: new(session.Guest)})
				_, token := s.CreateSessionToken(t.Context(), c, room, session.TokenInput{UserID: user})
				_, hand := s.RaiseHand(t.Context(), c, parent.ID, user)
				_, more := s.CreateBreakouts(t.Context(), c, parent.ID, 1, nil, 0)
				for what, err := range map[string]error{
					"promote": cohost, "mute": muted, "kick": out, "admit": in, "update": role, "token": token, "hand": hand, "open": more,
				} {
					if _, known := problem.As(err); err != nil && !known {
						t.Errorf("%s: %v", what, err)
					}
				}
			}
			if n == 0 {
				if _, err := s.CloseBreakouts(t.Context(), c, parent.ID); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	wg.Wait()
	var wrong int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions s WHERE
		s.seats <> (SELECT count(*) FROM participants p WHERE p.room_id = s.id AND p.seat <> 'none') OR
		s.present <> (SELECT count(*) FROM participants p WHERE p.room_id = s.id AND p.state = 'joined')`).Scan(&wrong))
	require.Zero(t, wrong)
}
