package walk_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

func stateOf(t *testing.T, owner *apitest.Caller, sessionID string) api.SessionState {
	t.Helper()

	return get[api.Session](t, owner, "/v1/me/sessions/"+sessionID).State
}

const longName = "Dan with a name that is longer than the form is wide on a phone"

// picks takes an option of the native select with a label.
func (c *console) picks(label, value string) {
	c.t.Helper()
	field := `document.querySelector(` + quoted(`select[aria-label="`+label+`"]`) + `)`
	browsertest.WaitFor(c.t, c.tab, `!!`+field)
	c.evaluates(`Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value").set.call(` + field + `, ` + quoted(value) + `);
		` + field + `.dispatchEvent(new Event("change", { bubbles: true }))`)
}

func TestOperatorRingsAndAnswersACall(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/sessions")
	c.clicks("new-call")
	c.types("fromUserId", "ada")
	c.types("fromDisplayName", "Ada <b>Okafor")
	c.types("toUserId", "ada")
	c.sees("Caller and callee are the same person")
	c.looks("call-new")
	c.types("toUserId", "ben")
	c.types("projectId", "default")
	c.clicks("submit")
	c.sees("The devices of ben ring")
	calls := get[[]api.Session](t, owner, "/v1/me/sessions")
	require.Len(t, calls, 1)
	require.Equal(t, []any{api.SessionTypeCall, "ada"}, []any{calls[0].Type, calls[0].HostID})
	c.looks("call-ringing")

	c.clicks("Link for Ada <b>Okafor")
	c.sees("The link for Ada <b>Okafor")
	c.clicks("Answer as ben")
	c.sees("The call was answered")
	c.sees("The link for ben")
	link := browsertest.Value[string](t, c.tab, `document.querySelector("[data-testid=room-link]").href`)
	require.True(t, strings.HasPrefix(link, c.s.URL+"/scenarios/conference/?room="+calls[0].ID+"&token="), link)
	require.Equal(t, api.SessionStateLive, stateOf(t, owner, calls[0].ID))
	c.looks("call-live")
	c.clicks("End the call")
	c.sees("Both are disconnected")
	c.clicks("confirm")
	c.sees("The call has ended.")
	require.Equal(t, api.SessionStateEnded, stateOf(t, owner, calls[0].ID))
	c.looks("call-ended")
	c.complains(refusedFirst)
}

func TestOperatorEndsRingingCalls(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	viewer := owner.Colleague(t, tenancy.Viewer)
	declined, takenBack := owner.Ring(t, nil), owner.Ring(t, map[string]any{"toUserId": "cleo"})
	read := owner.Ring(t, map[string]any{"toUserId": "dan"})

	c.signsIn(owner, "/sessions/"+declined.SessionID)
	c.clicks("Als ben ablehnen")
	c.sees("kann wieder angerufen werden")
	c.clicks("confirm")
	c.sees("Der Anruf wurde abgelehnt, verpasst oder zurückgenommen")
	require.Equal(t, api.SessionStateCancelled, stateOf(t, owner, declined.SessionID))
	c.looks("call-declined")
	c.opens("/console/sessions/" + takenBack.SessionID)
	c.clicks("Anruf zurücknehmen")
	c.clicks("confirm")
	c.sees("Der Anruf wurde abgelehnt, verpasst oder zurückgenommen")
	require.Equal(t, api.SessionStateCancelled, stateOf(t, owner, takenBack.SessionID))

	// An admin who acts for the tenant gets no participant's token.
	c.impersonatesInGerman(c.s.Admin(t, platform.SuperAdmin), owner.TenantID)
	c.opens("/console/sessions/" + read.SessionID)
	c.sees("Anruf zurücknehmen")
	c.lacks("Als dan annehmen", "Link für ada")
	c.opens("/console/sessions")
	c.sees("Neue Sitzung")
	c.lacks("Neuer Anruf")
	c.evaluates(`sessionStorage.clear()`)
	c.opens("/console")
	c.signsOut()
	c.signsIn(viewer, "/sessions")
	c.sees("Sitzungen und Anrufe")
	c.lacks("Neuer Anruf", "Neue Sitzung")
	c.opens("/console/sessions/" + read.SessionID)
	c.sees("Der Anruf wartet auf die Antwort von dan. Er hat kein Push-Projekt")
	c.lacks("Als dan annehmen", "Als dan ablehnen", "Anruf zurücknehmen", "Link für ada")
	c.complains(refusedFirst)
}

// TestAllPeopleOfALargeSessionGetBreakoutRooms: more than the first page of the list, and more than the rooms have seats.
func TestAllPeopleOfALargeSessionGetBreakoutRooms(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	room := owner.Session(t, map[string]any{"name": "Weekly planning", "type": "conference", "hostId": "ada"})
	owner.Join(t, room.ID, "ada", nil)
	_, err := c.s.Pool.Exec(t.Context(), `INSERT INTO participants (room_id, user_id, tenant_id, role, can_publish_screen, state, joined_at, created_at, updated_at)
		SELECT $1, 'user-' || i, $2, 'guest', false, 'joined', $3, $3, $3 FROM generate_series(1, 450) i`, room.ID, owner.TenantID, time.Now())
	require.NoError(t, err)

	c.signsIn(owner, "/sessions/"+room.ID)
	c.clicks("open-breakouts")
	c.sees("„Gleichmäßig verteilen“ verteilt alle Teilnehmer.")
	c.types("count", "4")
	c.clicks("Gleichmäßig verteilen")
	c.sees("450 von 450 sind zugeordnet")
	c.sees("weitere Teilnehmer stehen nicht in der Liste")
	c.sees("Ein Raum hat 50 Plätze, aber mancher bekommt bis zu 113 Teilnehmer.")
	c.looks("breakouts-many")
	c.clicks("submit")
	c.sees("Weekly planning – Breakout 4")
	var sizes []int
	for _, one := range get[api.Session](t, owner, "/v1/me/sessions/"+room.ID).Breakouts {
		sizes = append(sizes, len(one.UserIds))
	}
	require.Equal(t, []int{113, 113, 112, 112}, sizes)
	c.complains(refusedFirst)
}

func TestHostSplitsASessionIntoBreakoutRooms(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	room := owner.Session(t, map[string]any{"name": "Weekly planning", "type": "conference", "hostId": "ada"})
	at := "/v1/me/sessions/" + room.ID

	c.signsIn(owner, "/sessions/"+room.ID)
	c.clicks("open-breakouts")
	c.sees("No people have entered or been invited yet")
	c.looks("breakouts-no-people")
	c.clicks("Close")
	people := map[string]string{"ben": "Ben Sato", "cleo": "Cleo <i>Maes", "dan": longName}
	for user, name := range people {
		owner.Join(t, room.ID, user, map[string]any{"displayName": name})
	}
	for _, name := range people {
		c.sees(name)
	}
	c.clicks("open-breakouts")
	c.clicks("Distribute evenly")
	c.sees("3 of 3 are assigned")
	c.picks("Room of Ben Sato", "2")
	c.picks("Room of Cleo <i>Maes", "1")
	c.picks("Room of "+longName, "0")
	c.sees("2 of 3 are assigned")
	c.types("minutes", "10")
	c.looks("breakouts-open")

	// A refusal keeps the form.
	c.evaluates(`document.querySelector("[role=dialog] form").noValidate = true`)
	c.types("count", "21")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[name=count][aria-invalid=true]")`)
	require.Equal(t, "10", browsertest.Value[string](t, c.tab, `document.querySelector("[name=minutes]").value`))
	c.looks("breakouts-refused")
	c.types("count", "2")
	c.clicks("submit")
	c.sees("Weekly planning – Breakout 2")
	c.sees("Closes at")
	c.photographs("breakouts-list", "Breakout rooms")
	rooms := get[api.Session](t, owner, at).Breakouts
	require.Len(t, rooms, 2)
	require.Equal(t, [][]string{{"cleo"}, {"ben"}}, [][]string{rooms[0].UserIds, rooms[1].UserIds})
	c.looks("breakouts")

	c.clicks("Weekly planning – Breakout 1")
	c.sees("This is a breakout room.")
	c.lacks("Open breakout rooms", "Close all rooms")
	c.looks("breakout")
	c.clicks("To the main session")
	c.clicks("Close all rooms")
	c.sees("2 rooms close at once")
	c.clicks("confirm")
	c.sees("There are no breakout rooms")
	require.Equal(t, api.SessionStateEnded, stateOf(t, owner, rooms[0].ID))
	c.complains(refusedFirst, "400")
}

func TestViewerReadsBreakoutRooms(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	viewer := owner.Colleague(t, tenancy.Viewer)
	room := owner.Session(t, map[string]any{"name": "Weekly planning", "type": "conference", "hostId": "ada"})
	fields := map[string]any{"count": 2, "assignments": map[string]any{"1": []string{"ben"}}}
	owner.Call(t, "POST", "/v1/me/sessions/"+room.ID+"/breakouts", fields).Is(t, http.StatusCreated)

	c.signsIn(viewer, "/sessions/"+room.ID)
	c.sees("Weekly planning – Breakout 1")
	c.sees("ben")
	c.sees("Offen, bis Sie ihn schließen")
	c.sees("Niemand ist eingeladen")
	c.lacks("Weitere Räume öffnen", "Alle Räume schließen", "Abschließen")
	c.looks("breakouts-viewer")
	c.complains(refusedFirst)
}
