package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

func TestCheckPermission(t *testing.T) {
	t.Parallel()
	for role, want := range map[string][]bool{ // presence, moderation, hosting
		Host: {true, true, true}, Cohost: {true, true, false}, Guest: {true, false, false}, Viewer: {true, false, false},
	} {
		for need, may := range want {
			require.Equal(t, may, checkPermission(role, permission(need)) == nil, "%s %d", role, need)
		}
	}
	require.Equal(t, Cohost, higherRole(Cohost, Guest))
	require.Equal(t, Host, higherRole(Cohost, Host))
	require.Equal(t, Viewer, higherRole("", Viewer))
}

func TestASessionHasOneHost(t *testing.T) {
	t.Parallel()
	for _, is := range []string{Host, Cohost, Guest, Viewer} {
		for _, to := range []string{Host, Cohost, Guest, Viewer} {
			may := is == to || is != Host && to != Host
			require.Equal(t, may, checkRoleChange(db.Participant{Role: is}, to) == nil, "%s to %s", is, to)
		}
	}
	require.Error(t, checkKick(db.Participant{Role: Host}))
	require.NoError(t, checkKick(db.Participant{Role: Cohost}))
}

func TestCheckPromotion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, state, to string
		may             bool
	}{
		{Viewer, Joined, Guest, true},
		{Viewer, Invited, Cohost, true},
		{Viewer, Waiting, Guest, true},
		{Guest, Left, Guest, true},
		{Guest, Joined, Cohost, true},
		{Cohost, Joined, Guest, false},
		{Host, Joined, Cohost, false},
		{Viewer, Kicked, Guest, false},
	} {
		require.Equal(t, c.may, checkPromotion(db.Participant{Role: c.role, State: c.state}, c.to) == nil, "%v", c)
	}
}

func TestCheckBreakout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s   db.Session
		may bool
	}{
		{db.Session{Type: Conference, State: Live}, true},
		{db.Session{Type: Webinar, State: Live}, true},
		{db.Session{Type: Conference, State: Ended}, false},
		{db.Session{Type: Call, State: Live}, false},
		{db.Session{Type: Conference, State: Live, ParentSessionID: new("sess_1")}, false},
	} {
		require.Equal(t, c.may, checkBreakout(c.s) == nil, "%v", c.s)
	}
}

func TestAModeratorsMuteNeedsASpeakerInTheRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p              db.Participant
		inRoom, useful bool
	}{
		{db.Participant{State: Joined, Role: Guest}, true, true},
		{db.Participant{State: Joined, Role: Host}, true, true},
		{db.Participant{State: Joined, Role: Guest, Muted: true}, true, true},
		{db.Participant{State: Joined, Role: Guest, Muted: true, Silenced: true}, true, false},
		{db.Participant{State: Joined, Role: Viewer}, true, false},
		{db.Participant{State: Waiting, Role: Guest}, false, true},
		{db.Participant{State: Left, Role: Guest}, false, true},
	} {
		require.Equal(t, c.inRoom, checkInRoom(c.p) == nil, "%v", c.p)
		require.Equal(t, c.useful, canBeMuted(c.p), "%v", c.p)
	}
}

func TestReadAssignments(t *testing.T) {
	t.Parallel()
	rooms, err := readAssignments(3, map[string][]string{"3": {"ben", "ada", "ben"}, "1": {"cleo"}})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"cleo"}, {}, {"ben", "ada"}}, rooms)
	for _, bad := range []string{"0", "4", "-1", "01", "+1", "1.0", " 1", "one", "", "99999999999999999999"} {
		_, err := readAssignments(3, map[string][]string{bad: {}})
		p, ok := problem.As(err)
		require.True(t, ok, bad)
		require.Equal(t, []problem.Field{{Field: "assignments." + bad, Message: "there is no such room: they are 1 to 3"}}, p.Fields)
	}
	_, err = readAssignments(20, map[string][]string{"2": {"ben"}, "10": {"ben"}})
	p, _ := problem.As(err)
	require.Equal(t, []problem.Field{{Field: "assignments.10", Message: `"ben" is in room 2 already`}}, p.Fields, "in the order of the numbers")
}

func TestFirstNumber(t *testing.T) {
	t.Parallel()
	require.Equal(t, int32(1), firstNumber(nil))
	require.Equal(t, int32(8), firstNumber([]db.Session{{BreakoutNumber: new(int32(7))}, {BreakoutNumber: new(int32(2))}, {}}))
}
