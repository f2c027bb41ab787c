package walk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

func participantsByUser(t *testing.T, caller *apitest.Caller, sessionID string) map[string]api.Participant {
	t.Helper()
	users := map[string]api.Participant{}
	for _, p := range get[[]api.Participant](t, caller, "/v1/me/sessions/"+sessionID+"/participants") {
		users[p.UserID] = p
	}

	return users
}

func TestHostRunsASession(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/sessions")
	c.sees("No session matches")
	c.clicks("New session")
	c.types("name", "Weekly <i>planning")
	c.types("hostId", "ada")
	c.types("capacity", "12")
	c.looks("session-new")
	c.clicks("submit")
	c.sees("A link opens the room for one person")
	made := get[[]api.Session](t, owner, "/v1/me/sessions")
	require.Len(t, made, 1)
	require.Equal(t, 12, made[0].Capacity)
	owner.Join(t, made[0].ID, "ben", map[string]any{"displayName": "Ben Sato"})

	c.types("userId", "cleo")
	c.types("displayName", "Cleo")
	c.clicks("guest-link")
	c.sees("The link for Cleo")
	link := browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=room-link]").href`)
	require.True(t, strings.HasPrefix(link, c.s.URL+"/scenarios/conference/?room="+made[0].ID+"&token="), link)
	c.sees("Ben Sato")
	c.sees("Cleo")
	c.looks("session")

	c.clicks("Moderate Ben Sato")
	c.clicks("Make cohost")
	apitest.Until(t, "ben is a cohost", func() bool {
		return participantsByUser(t, owner, made[0].ID)["ben"].Role == api.ParticipantRoleCohost
	})
	c.sees("Cohost")
	c.clicks("Moderate Ben Sato")
	c.clicks("Remove")
	c.sees("“Ben Sato” is disconnected at once")
	c.clicks("confirm")
	c.sees("Removed")
	require.Equal(t, api.ParticipantStateKicked, participantsByUser(t, owner, made[0].ID)["ben"].State)
	c.clicks("Lock")
	c.sees("Locked: no new people can enter")
	c.clicks("End the session")
	c.clicks("confirm")
	c.sees("Ended")
	require.Equal(t, api.SessionStateEnded, get[api.Session](t, owner, "/v1/me/sessions/"+made[0].ID).State)
	c.looks("session-ended")
	c.clicks("Sessions and calls")
	c.sees("Weekly <i>planning")
	c.looks("sessions")
	c.complains(refusedFirst)
}
