package session_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
)

// TestAKickWinsAgainstEveryEntry: a user is kicked while it enters by many
// connections. Afterwards it is not in the room, for any order of these, and none of
// its tokens is valid.
func TestAKickWinsAgainstEveryEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben := r.owner.Ticket(t, r.room, "ben", nil)
	second := r.owner.Ticket(t, r.room, "ben", nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			in := session.EnterInput{Token: []string{ben.Token, second.Token}[i%2], RoomID: r.room, ConnID: fmt.Sprint("conn", i)}
			if _, err := r.Sessions.Enter(t.Context(), in); err != nil && !problem.Is(err, "forbidden") {
				t.Error(err)
			}
			if err := r.token(t, "ben"); err != nil && !problem.Is(err, "forbidden") {
				t.Error(err)
			}
		})
	}
	wg.Go(func() { r.owner.Call(t, "DELETE", "/v1/me/sessions/"+r.room+"/participants/ben", nil).Is(t, 200) })
	wg.Wait()
	require.Equal(t, session.GoneKicked, r.owner.Participant(t, r.room, "ben").Gone)
	p := r.participant(t, "ben")
	require.Equal(t, []any{session.Kicked, "none"}, []any{p.State, p.Seat})
	require.Nil(t, p.ConnID)
	r.counted(t)
	for _, g := range []*apitest.Guest{ben, second} {
		_, err := g.Enter(t, r.room)
		refused(t, err, "forbidden")
		g.Call(t, "GET", "/v1/me/sessions/"+r.room, nil).Problem(t, http.StatusUnauthorized, "unauthenticated")
	}
	r.owner.SessionToken(t, r.room, "ben", nil).Problem(t, 403, "forbidden")
	r.counted(t)
}

// TestAdmissionsTakeTheSeatsThatThereAre: participants are admitted, enter and
// leave at the same time. At no time are more inside than there are seats.
func TestAdmissionsTakeTheSeatsThatThereAre(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"waitingRoom": true, "capacity": 4})
	for i := range 10 {
		r.owner.Join(t, r.room, fmt.Sprint("user", i), nil)
	}
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			res := r.owner.Call(t, "POST", fmt.Sprintf("/v1/me/sessions/%s/participants/user%d/admit", r.room, i), nil)
			if res.Status != 201 {
				res.Problem(t, 409, "session_full")
			}
		})
		wg.Go(func() {
			res := r.owner.SessionToken(t, r.room, fmt.Sprint("cohost", i), map[string]any{"role": "cohost"})
			if res.Status != 201 {
				res.Problem(t, 409, "session_full")
			}
		})
	}
	wg.Go(func() { r.patch(t, map[string]any{"waitingRoom": false}) })
	wg.Wait()
	require.EqualValues(t, 4, r.row(t).Seats)
	r.counted(t)
}

// TestNodesAreNotifiedOfChangedPermissions: nodes are notified when a user enters by
// another connection and when the session changes, and at no other time.
func TestNodesAreNotifiedOfChangedPermissions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	ben := r.owner.Ticket(t, r.room, "ben", nil)
	conn, err := r.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "LISTEN "+session.ChangesChannel)
	require.NoError(t, err)
	defer func() { _, _ = conn.Exec(context.WithoutCancel(t.Context()), "UNLISTEN *") }()

	_, err = ben.Enter(t, r.room) // a first entry concerns no other node
	require.NoError(t, err)
	_, err = ben.Enter(t, r.room)
	require.NoError(t, err)
	r.owner.Join(t, r.room, "cleo", nil)
	path := "/v1/me/sessions/" + r.room
	spot := func(userID string) {
		r.owner.Call(t, "POST", path+"/moderate/spotlight", map[string]any{"userId": userID}).Is(t, 201)
	}
	// The end of a spotlight concerns everyone in the room.
	spot("ben")
	ben.Leave(t)
	spot("cleo")
	r.owner.Call(t, "DELETE", path+"/participants/cleo", nil).Is(t, 200)
	r.patch(t, map[string]any{"locked": true})
	r.patch(t, map[string]any{"locked": true})
	r.end(t)
	var heard []string
	for len(heard) < 7 {
		n, err := conn.Conn().WaitForNotification(t.Context())
		require.NoError(t, err)
		if len(n.Payload) > len(r.room) && n.Payload[:len(r.room)] == r.room {
			heard = append(heard, n.Payload[len(r.room):])
		}
	}
	require.Equal(t, []string{"/ben", "/", "/", "/", "/", "/", "/"}, heard)
}

// TestEventsOfARoomAreInTheOrderOfItsChanges: and participants receive the
// publications in the same order.
func TestEventsOfARoomAreInTheOrderOfItsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 5 {
				layouts := []string{"grid", "speaker", "sidebar", "spotlight"}
				r.owner.Call(t, "PATCH", "/v1/me/sessions/"+r.room, map[string]any{"layout": layouts[(i+n)%4]}).Is(t, 200)
			}
		})
	}
	wg.Wait()
	_, data := r.events(t)
	layout := "grid"
	for _, d := range data[1:] {
		require.NotEqual(t, layout, d["layout"], "each tells of a change")
		layout, _ = d["layout"].(string)
	}
	require.Equal(t, r.row(t).Layout, layout)
	published := r.Published()
	require.Len(t, published, len(data)-1)
	for i, p := range published {
		delete(data[i+1], "metadata") // publications omit the tenant's metadata
		require.Equal(t, data[i+1], p.Data)
	}
}
