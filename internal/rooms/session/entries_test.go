package session_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/testkit/apitest"
)

// TestSeatsAreExact checks that of 1000 users who enter at once, as many succeed as there
// are seats. A participant who was inside can always enter again.
func TestSeatsAreExact(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"capacity": 50})
	var in, full atomic.Int32
	tokens := make([]string, 1000)
	var wg sync.WaitGroup
	for i := range tokens {
		wg.Go(func() {
			token, err := r.Sessions.CreateSessionToken(t.Context(), r.caller, r.room, session.TokenInput{UserID: fmt.Sprint("user", i)})
			switch {
			case err == nil:
				in.Add(1)
				tokens[i] = token.Token
			case problem.Is(err, "session_full"):
				full.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int32{50, 950}, []int32{in.Load(), full.Load()})
	r.counted(t)
	require.EqualValues(t, 50, r.row(t).Seats)

	for i, token := range tokens {
		if token == "" {
			continue
		}
		for range 2 { // by two connections at once, of which the later one counts
			wg.Go(func() {
				_, err := r.Sessions.Enter(t.Context(), session.EnterInput{Token: token, RoomID: r.room, ConnID: id.New(id.Connection)})
				if err != nil {
					t.Errorf("user%d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
	r.counted(t)
	require.EqualValues(t, 50, r.row(t).Present)
	refused(t, r.token(t, "late"), "session_full")
}

// TestSeatsAreExactWhileTheyChange: users get tokens, enter, leave and come back
// at once. At no time are more inside than there are seats.
func TestSeatsAreExactWhileTheyChange(t *testing.T) {
	t.Parallel()
	const seats, users, rounds = 5, 20, 10
	r := newRig(t, map[string]any{"capacity": seats})
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			user := fmt.Sprint("user", i)
			for range rounds {
				token, err := r.Sessions.CreateSessionToken(t.Context(), r.caller, r.room, session.TokenInput{UserID: user})
				if problem.Is(err, "session_full") {
					continue
				}
				conn := id.New(id.Connection)
				if err == nil {
					_, err = r.Sessions.Enter(t.Context(), session.EnterInput{Token: token.Token, RoomID: r.room, ConnID: conn})
				}
				if err != nil {
					t.Error(err)
					return
				}
				n := inside.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				inside.Add(-1)
				if err := r.Sessions.Leave(t.Context(), r.owner.TenantID, r.room, user, conn); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int32(seats))
	r.counted(t)
	require.Zero(t, r.row(t).Seats)
}

func TestAHeldSeatExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"capacity": 2})
	ben, cleo := r.owner.Ticket(t, r.room, "ben", nil), r.owner.Ticket(t, r.room, "cleo", nil)
	refused(t, r.token(t, "dora"), "session_full")
	r.Clock.Advance(40 * time.Second)
	require.NoError(t, r.token(t, "ben"), "asking again is harmless, and holds the seat for another minute")
	require.EqualValues(t, 2, r.row(t).Seats)
	refused(t, r.token(t, "dora"), "session_full")
	r.Clock.Advance(20 * time.Second)
	dora := r.owner.Ticket(t, r.room, "dora", nil) // cleo's seat has expired
	_, err := cleo.Enter(t, r.room)
	refused(t, err, "session_full")
	_, err = ben.Enter(t, r.room)
	require.NoError(t, err)
	_, err = dora.Enter(t, r.room)
	require.NoError(t, err)
	r.counted(t)
	r.Clock.Advance(time.Hour)
	refused(t, r.token(t, "cleo"), "session_full")
	dora.Leave(t)
	_, err = cleo.Enter(t, r.room)
	require.NoError(t, err, "with the token of an hour ago")
	r.counted(t)
}

func TestComingBackIsHarmless(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"capacity": 2})
	ben := r.owner.Join(t, r.room, "ben", nil)
	first, joined := ben.ConnID, r.participant(t, "ben").JoinedAt
	require.Equal(t, session.Joined, r.owner.Participant(t, r.room, "ben").State)
	r.Clock.Advance(time.Minute)
	require.NoError(t, r.Sessions.SetMuted(t.Context(), r.owner.TenantID, r.room, "ben", first, true))
	g, err := ben.Enter(t, r.room)
	require.NoError(t, err)
	require.Equal(t, ben.ConnID, g.ConnID)
	require.True(t, g.Muted, "the same participant")
	require.Equal(t, joined, r.participant(t, "ben").JoinedAt)
	require.NoError(t, r.token(t, "ben"))
	require.Equal(t, []int32{1, 1}, []int32{r.row(t).Seats, r.row(t).Present})

	require.NoError(t, r.Sessions.Leave(t.Context(), r.owner.TenantID, r.room, "ben", first), "the one before doesn't count any more")
	require.NoError(t, r.Sessions.SetMuted(t.Context(), r.owner.TenantID, r.room, "ben", first, false))
	g = r.owner.Participant(t, r.room, "ben")
	require.Equal(t, []any{session.Joined, true}, []any{g.State, g.Muted})
	for range 2 {
		ben.Leave(t)
		p := r.participant(t, "ben")
		require.Equal(t, session.Left, p.State)
		require.Equal(t, r.Clock.Now(), *p.LeftAt)
		require.Nil(t, p.ConnID)
	}
	r.counted(t)
	require.Zero(t, r.row(t).Seats)
	g, err = ben.Enter(t, r.room)
	require.NoError(t, err)
	require.False(t, g.Muted, "a new participant is not muted")
	require.Nil(t, r.participant(t, "ben").LeftAt)
	require.Equal(t, joined, r.participant(t, "ben").JoinedAt, "the first time counts")
	require.NoError(t, r.Sessions.Leave(t.Context(), r.owner.TenantID, r.room, "nobody", "conn"))
	require.NoError(t, r.Sessions.Leave(t.Context(), r.owner.TenantID, "sess_none", "ben", "conn"))
}

func TestALockKeepsNewOnesOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"inviteUserIds": []string{"ivy"}})
	inside := r.owner.Join(t, r.room, "inside", nil)
	held, away := r.owner.Ticket(t, r.room, "held", nil), r.owner.Join(t, r.room, "away", nil)
	away.Leave(t)
	r.Clock.Advance(10 * time.Second)
	require.True(t, r.patch(t, map[string]any{"locked": true}).Locked)

	for _, user := range []string{"new", "ivy", "held"} {
		p := r.owner.SessionToken(t, r.room, user, nil).Problem(t, 403, "forbidden")
		require.Equal(t, "the session is locked", p.Message)
	}
	_, err := held.Enter(t, r.room)
	refused(t, err, "forbidden")
	_, err = inside.Enter(t, r.room)
	require.NoError(t, err, "those inside stay")
	require.NoError(t, r.token(t, "inside"))
	require.NoError(t, r.token(t, "ada"), "the host can always come")
	_, err = away.Enter(t, r.room)
	require.NoError(t, err, "10 seconds are no time")
	away.Leave(t)
	r.Clock.Advance(31 * time.Second)
	_, err = away.Enter(t, r.room)
	refused(t, err, "forbidden")

	r.patch(t, map[string]any{"locked": false})
	_, err = away.Enter(t, r.room)
	require.NoError(t, err)
	r.counted(t)
}

func TestTheWaitingRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"waitingRoom": true, "capacity": 3})
	require.Equal(t, "host", string(r.owner.Join(t, r.room, "ada", nil).Role), "hosts don't wait")
	require.True(t, r.owner.Ticket(t, r.room, "eve", map[string]any{"role": "cohost"}).Perms.Audio, "nor cohosts")
	var waiting []*apitest.Guest
	for _, user := range []string{"ben", "cleo", "dora"} {
		g := r.owner.Join(t, r.room, user, nil)
		require.False(t, g.Perms.Audio || g.Perms.Video || g.Perms.Screen)
		waiting = append(waiting, g)
	}
	r.owner.Ticket(t, r.room, "fred", nil) // who hasn't come yet
	g := r.owner.Participant(t, r.room, "ben")
	require.Equal(t, []any{session.Waiting, session.Perms{}, ""}, []any{g.State, g.Perms, g.Gone})
	require.Equal(t, []int32{2, 1}, []int32{r.row(t).Seats, r.row(t).Present}, "a waiting participant takes no seat")
	waiting[2].Leave(t)
	require.Equal(t, session.Waiting, r.participant(t, "dora").State)

	got := r.patch(t, map[string]any{"waitingRoom": false})
	require.False(t, got.WaitingRoom)
	require.Equal(t, 2, got.ParticipantCount)
	g = r.owner.Participant(t, r.room, "ben")
	require.Equal(t, []any{session.Joined, session.Perms{Audio: true, Video: true}}, []any{g.State, g.Perms}, "in, by the connection it has")
	require.NotNil(t, r.participant(t, "ben").JoinedAt)
	require.Equal(t, session.Waiting, r.participant(t, "cleo").State, "there is no seat left")
	names, data := r.events(t)
	require.Equal(t, []string{"session.created", "session.updated", "session.participant.updated"}, names)
	require.Equal(t, []any{"waitingRoom"}, data[1]["changed"])
	require.Equal(t, []any{"ben", "joined"}, []any{data[2]["userId"], data[2]["state"]})
	r.counted(t)

	refused(t, r.token(t, "cleo"), "session_full")
	r.patch(t, map[string]any{"capacity": 50})
	require.NoError(t, r.token(t, "cleo"))
	require.Equal(t, session.Joined, r.participant(t, "cleo").State, "there is nothing to wait for")
	_, err := waiting[2].Enter(t, r.room)
	require.NoError(t, err)
	require.Equal(t, session.Joined, r.participant(t, "dora").State)
	r.counted(t)

	r.patch(t, map[string]any{"waitingRoom": true})
	waiting[0].Leave(t)
	g, err = waiting[0].Enter(t, r.room)
	require.NoError(t, err)
	require.Equal(t, session.Joined, g.State, "a participant who was inside doesn't wait again")
	require.Equal(t, session.Waiting, r.owner.Participant(t, r.room, r.owner.Ticket(t, r.room, "gil", nil).UserID).State)
	r.counted(t)
}

// TestALoweredCapacityRemovesNoParticipant: existing participants stay, and no one else
// enters until a seat is free.
func TestALoweredCapacityRemovesNoParticipant(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var guests []*apitest.Guest
	for i := range 4 {
		guests = append(guests, r.owner.Join(t, r.room, fmt.Sprint("user", i), nil))
	}
	got := r.patch(t, map[string]any{"capacity": 2})
	require.Equal(t, []int{2, 4}, []int{got.Capacity, got.ParticipantCount})
	refused(t, r.token(t, "new"), "session_full")
	require.NoError(t, r.token(t, "user0"))
	guests[1].Leave(t)
	guests[2].Leave(t)
	refused(t, r.token(t, "new"), "session_full")
	guests[3].Leave(t)
	require.NoError(t, r.token(t, "new"))
	r.counted(t)
	names, _ := r.events(t)
	require.Equal(t, []string{"session.created"}, names, "participants get no event for a changed capacity")
}

func TestTokensOfOtherRooms(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	other := r.owner.Session(t, nil).ID
	foreign := r.Register(t).Session(t, nil).ID
	ben := r.owner.Join(t, r.room, "ben", nil)
	r.owner.Join(t, other, "ben", nil)
	stream := r.owner.Stream(t, nil).ID
	for _, room := range []string{other, foreign, "sess_none", stream, "", id.New(id.Session), id.New(id.Stream)} {
		_, err := ben.Enter(t, room)
		refused(t, err, "unauthenticated")
	}
	for _, token := range []string{"", "x", r.owner.Token, ben.Token + "x", ben.Token[:len(ben.Token)-2]} {
		_, err := r.Sessions.Enter(t.Context(), session.EnterInput{Token: token, RoomID: r.room, ConnID: "c"})
		refused(t, err, "unauthenticated")
		_, err = r.Sessions.AuthenticateCaller(t.Context(), token)
		refused(t, err, "unauthenticated")
	}
	r.Clock.Advance(session.TokenLife)
	_, err := ben.Enter(t, r.room)
	refused(t, err, "token_expired")
	_, err = r.Sessions.AuthenticateCaller(t.Context(), ben.Token)
	refused(t, err, "token_expired")
	g, err := r.Sessions.GetGrant(t.Context(), "ten_other", r.room, "ben")
	require.NoError(t, err)
	require.Equal(t, session.GoneUnknown, g.Gone, "another tenant's")
}

// TestRefusingIsCheap: ten thousand asks for a full room are all refused with
// session_full, without a lock and with a few reads.
func TestRefusingIsCheap(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]any{"capacity": 2})
	r.owner.Join(t, r.room, "ben", nil)
	r.owner.Join(t, r.room, "cleo", nil)
	before := r.Pool.Stat().AcquireCount()
	start := time.Now()
	const crowd, each = 1000, 10
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			for range each {
				if err := r.token(t, fmt.Sprint("user", i)); !problem.Is(err, "session_full") {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	took, acquired := time.Since(start), r.Pool.Stat().AcquireCount()-before
	t.Logf("%d refused in %s (%.0f a second) with %d uses of a connection", crowd*each, took, crowd*each/took.Seconds(), acquired)
	require.Less(t, acquired, int64(crowd*each/4))
	r.counted(t)
	var n int
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT count(*) FROM participants WHERE room_id = $1", r.room).Scan(&n))
	require.Equal(t, 3, n, "they left no trace")
}
