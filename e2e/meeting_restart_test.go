package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestAMeetingOutlivesItsServer kills or stops the server of a room. Once the server is
// back, all participants must rejoin by themselves, with sound and pictures, and
// receive the messages that were sent meanwhile. Muted participants stay muted, and
// removed ones stay out.
func TestAMeetingOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := bringTwo(a, s, session)
	ada.sees(ben)
	ada.hears(ben)
	ada.shows("chat")
	ada.run(chromedp.SendKeys(chromedp.CSS(".write textarea"), "Before\r"))
	ben.shows("chat")
	ben.waits(`document.querySelector(".messages")?.textContent.includes("Before")`)

	cleo := invite(a, s, session, "cleo", "Cleo Martin")
	cleo.joins()
	cleo.isIn()
	ada.does("cleo", "Remove from the room")
	ada.chooses("Remove")
	cleo.waitForFinalScreen("You were removed")
	ben.clicks("[data-control=microphone]")
	ada.hearsNothing(ben)
	ada.shows("chat")

	joined := participantOf(a, session.ID, "ben").JoinedAt
	for name, end := range map[string]func(){
		"killed":  func() { s.kill() },
		"stopped": func() { require.Zero(t, s.terminate(t)) },
	} {
		end()
		for _, p := range []*person{ada, ben} {
			p.noticed("The connection is lost.")
		}
		s.start(t)
		created(a.SendChannelMessageWithResponse(t.Context(), session.ID, api.ChatMessageInput{
			AuthorID: "dora", AuthorName: "Dora", Body: "While it was " + name,
		}))(t)
		for _, p := range []*person{ada, ben} {
			p.waits(`room()?.state === "joined"`)
			p.waits(`document.querySelector(".messages")?.textContent.includes("Before")`)
			p.waits(`document.querySelector(".messages").textContent.includes("While it was ` + name + `")`)
		}
		ada.sees(ben)
		ben.sees(ada)
		ben.hears(ada)
		ada.hearsNothing(ben)
		require.Equal(t, joined, participantOf(a, session.ID, "ben").JoinedAt, "the same participant")
	}
	ben.clicks("[data-control=microphone]")
	ada.hears(ben)
	cleo.run(chromedp.Reload())
	cleo.waitForFinalScreen("You were removed")
}
