package walk_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

const channelsPath = "/v1/me/channels/"

// lastAction returns the newest act of moderation in a channel: its kind, target and reason, and whether it restricts.
func lastAction(t *testing.T, caller *apitest.Caller, channelID string) string {
	t.Helper()
	list := get[[]api.ChannelModerationAction](t, caller, channelsPath+channelID+"/moderation")
	if len(list) == 0 {
		return ""
	}
	a := list[0]
	reason := ""
	if !a.Reason.IsNull() {
		reason = " " + a.Reason.MustGet()
	}
	target := ""
	if !a.Target.IsNull() {
		target = a.Target.MustGet()
	}

	return fmt.Sprintf("%s %s %v%s", a.Kind, target, a.Active, reason)
}

// moderated waits until the newest act of moderation in a channel is this one.
func (c *console) moderated(owner *apitest.Caller, channelID, action string) {
	c.t.Helper()
	apitest.Until(c.t, action, func() bool { return lastAction(c.t, owner, channelID) == action })
}

func writesAs(t *testing.T, owner *apitest.Caller, streamID, authorID, authorName, text string) {
	t.Helper()
	owner.Call(t, "POST", "/v1/me/streams/"+streamID+"/chat", map[string]any{"authorId": authorID, "authorName": authorName, "body": text}).
		Is(t, http.StatusCreated)
}

func TestOwnerModeratesAStreamsChat(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	writesAs(t, owner, stream.ID, "grace", "Grace <i>", "Buy my bags at https://bags.example.test/"+longName)

	c.signsIn(owner, "/streams/"+stream.ID)
	c.sees("Buy my bags")
	c.sees("All users may write.")
	menu := "Actions for the message of Grace <i>"
	c.clicks(menu)
	c.clicks("Mute")
	c.sees("“Grace <i>” can still read, but can’t write until you unmute them.")
	c.types("reason", "spam")
	c.looks("chat-mute")
	c.clicks("confirm")
	c.sees("Muted")
	c.moderated(owner, stream.ID, "mute grace true spam")
	c.clicks(menu)
	c.clicks("Time out")
	c.chooses("For how long", "1 hour")
	c.looks("chat-timeout")
	c.clicks("confirm")
	c.sees("Timed out until")
	c.moderated(owner, stream.ID, "timeout grace true")
	list := get[[]api.ChannelModerationAction](t, owner, channelsPath+stream.ID+"/moderation")
	require.Equal(t, time.Hour, list[0].ExpiresAt.MustGet().Sub(list[0].CreatedAt.Time))
	c.clicks(menu)
	c.clicks("Ban")
	c.sees("is disconnected from the chat")
	c.clicks("confirm")
	c.sees("Banned")
	c.moderated(owner, stream.ID, "ban grace true")
	c.picks("Slow mode", "30")
	apitest.Until(t, "the slow mode is set", func() bool {
		return get[api.Channel](t, owner, channelsPath+stream.ID).SlowmodeSec == 30
	})
	c.sees("The slow mode is changed")
	c.looks("chat-moderated")
	c.photographs("chat-moderated-part", "Chat")

	c.clicks("Lift the ban: Grace <i>")
	c.moderated(owner, stream.ID, "ban grace false")
	c.clicks(menu)
	c.clicks("Unmute")
	c.moderated(owner, stream.ID, "mute grace false")
	c.clicks("End the timeout: Grace <i>")
	c.sees("All users may write.")
	c.moderated(owner, stream.ID, "timeout grace false")
	c.clicks(menu)
	c.clicks("Delete")
	c.sees("This can’t be undone.")
	c.clicks("confirm")
	c.misses("Buy my bags")
	c.complains(refusedFirst)
}

// TestNextMessageIsKept types a message while another one is on its way, and gets back one that is refused.
func TestNextMessageIsKept(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})

	c.signsIn(owner, "/streams/"+stream.ID)
	c.types("chat", "Welcome, all!")
	c.evaluates(`{
		const send = window.fetch;
		const held = new Promise((release) => { window.release = release; });
		window.fetch = async (request) => {
			if (request.method === "POST" && request.url.endsWith("/chat")) await held;
			return send(request);
		};
	}`)
	c.clicks("send-chat")
	browsertest.WaitFor(t, c.tab, `document.querySelector("[name=chat]").value === ""`)
	c.types("chat", "We begin at ten")
	c.evaluates(`window.release()`)
	c.sees("Welcome, all!")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[data-testid=send-chat]").disabled`)
	require.Equal(t, "We begin at ten", browsertest.Value[string](t, c.tab, `document.querySelector("[name=chat]").value`))

	me := get[[]api.ChatMessage](t, owner, channelsPath+stream.ID+"/messages")[0].AuthorID
	owner.Call(t, "POST", channelsPath+stream.ID+"/moderate/mute", map[string]any{"target": me, "by": "ada"}).Is(t, http.StatusCreated)
	c.clicks("send-chat")
	c.sees("Code: muted")
	require.Equal(t, "We begin at ten", browsertest.Value[string](t, c.tab, `document.querySelector("[name=chat]").value`))
	c.complains(refusedFirst, "403")
}

func TestChatIsReadByAViewerAndAnActingAdmin(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Abendschau"})
	writesAs(t, owner, stream.ID, "grace", "Grace", "Guten Abend")
	owner.Call(t, "POST", channelsPath+stream.ID+"/moderate/mute", map[string]any{"target": "grace", "by": "ada"}).Is(t, http.StatusCreated)
	channel := owner.Channel(t, nil)

	c.signsIn(owner.Colleague(t, tenancy.Viewer), "/streams/"+stream.ID)
	c.sees("Guten Abend")
	c.sees("Jetzt stumm oder gesperrt")
	c.sees("Kein langsamer Modus")
	c.lacks("Senden", "Aktionen für die Nachricht von Grace", "Stummschaltung aufheben")
	c.opens("/console/channels/" + channel.ID)
	c.sees("Darf schreiben")
	c.lacks("Mitglied hinzufügen", "Aktionen für ben", "Senden")
	c.looks("channel-viewer")
	c.opens("/console/channels")
	c.sees("Backstage")
	c.lacks("Neuer Kanal")

	// The record names the user: a tenant doesn't see the admin's id.
	c.impersonatesInGerman(c.s.Admin(t, platform.SuperAdmin), owner.TenantID)
	c.opens("/console/streams/" + stream.ID)
	c.clicks("Stummschaltung aufheben: Grace")
	c.moderated(owner, stream.ID, "mute grace false")
	list := get[[]api.ChannelModerationAction](t, owner, channelsPath+stream.ID+"/moderation")
	require.Equal(t, owner.UserID, list[0].By)
	c.complains(refusedFirst)
}

func membersOf(t *testing.T, owner *apitest.Caller, channelID string) map[string]api.ParticipantRole {
	t.Helper()
	roles := map[string]api.ParticipantRole{}
	for _, m := range get[[]api.ChannelMember](t, owner, channelsPath+channelID+"/members") {
		roles[m.UserID] = m.Role
	}

	return roles
}

func TestOwnerRunsAChannel(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/channels")
	c.sees("There are no channels")
	c.looks("channels-empty")
	c.clicks("new-channel")
	c.types("name", "Backstage <b>")
	c.types("hostId", "ada")
	c.types("members", "ben\ncleo")
	c.looks("channel-new")
	c.clicks("submit")
	c.sees("May write")
	made := get[[]api.Channel](t, owner, "/v1/me/channels")
	require.Len(t, made, 1)
	at := made[0].ID
	require.Equal(t, map[string]api.ParticipantRole{"ada": "host", "ben": "guest", "cleo": "guest"}, membersOf(t, owner, at))
	c.types("chat", "Doors open at nine")
	c.clicks("send-chat")
	c.sees("Doors open at nine")
	owner.Say(t, at, "ben", "I bring the cables").Is(t, http.StatusCreated)
	c.sees("I bring the cables")

	c.clicks("Add a member")
	c.types("userId", "dan")
	c.chooses("Role", "Cohost")
	c.looks("channel-add")
	c.clicks("submit")
	c.sees("The member is added")
	require.Equal(t, api.ParticipantRoleCohost, membersOf(t, owner, at)["dan"])
	c.clicks("Actions for cleo")
	c.clicks("Make cohost")
	apitest.Until(t, "cleo is a cohost", func() bool { return membersOf(t, owner, at)["cleo"] == api.ParticipantRoleCohost })
	c.clicks("Actions for ben")
	c.clicks("Mute")
	c.clicks("confirm")
	c.sees("Unmute")
	c.looks("channel")
	c.clicks("Actions for dan")
	c.clicks("Remove from the channel")
	c.sees("“dan” is no longer a member")
	c.clicks("confirm")
	apitest.Until(t, "dan is no member", func() bool { return membersOf(t, owner, at)["dan"] == "" })

	c.clicks("Chat channels")
	c.sees("Backstage <b>")
	c.clicks("new-channel")
	c.chooses("Kind", "Two users")
	c.types("first", "ada")
	c.types("second", "ben")
	c.clicks("submit")
	c.sees("Only the two members write here.")
	c.looks("channel-direct")
	c.clicks("Chat channels")
	c.sees("1–2 of 2")
	c.looks("channels")
	c.complains(refusedFirst)
}

func TestHostBroadcastsASession(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Town hall"})
	room := owner.Session(t, map[string]any{"transcriptionEnabled": true})
	path := "/v1/me/sessions/" + room.ID
	owner.Join(t, room.ID, "ben", map[string]any{"displayName": "Ben Sato"})

	c.signsIn(owner, "/sessions/"+room.ID)
	c.sees("Sends the picture and the voices of the room to a stream")
	browsertest.WaitFor(t, c.tab, `[...document.querySelectorAll("form input")].some((input) => input.value === "Town hall")`)
	c.looks("broadcast-start")
	c.clicks("Start the broadcast")
	c.sees("It is on air with the first picture.")
	require.Equal(t, stream.ID, get[api.Session](t, owner, path).Broadcast.MustGet().StreamID)
	c.looks("broadcast")
	c.clicks("Stop the broadcast")
	c.sees("The session continues.")
	c.clicks("confirm")
	c.sees("It was stopped.")
	require.Equal(t, api.StreamBroadcastStateEnded, get[api.Session](t, owner, path).Broadcast.MustGet().State)

	c.lacks("Download as WebVTT")
	caption := map[string]any{"userId": "ben", "key": "1", "text": "I book the studio."}
	owner.Call(t, "POST", path+"/captions", caption).Is(t, http.StatusCreated)
	c.sees("I book the studio.")
	file := owner.Call(t, "GET", path+"/transcript.vtt", nil).Is(t, http.StatusOK)
	c.savesFile("Download as WebVTT", string(file.Body))
	c.looks("broadcast-ended")
	c.complains(refusedFirst)
}
