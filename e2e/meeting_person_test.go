package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/testkit/browsertest"
)

// person is a participant with a browser of its own on the room page.
type person struct {
	t   testing.TB
	tab context.Context
	log *browsertest.Log
	id  string
}

// watchRoom makes the page record what it receives, by user and source: frames decoded
// so far, the loudest level since it was set to 0, and the share of sound packets that
// were discarded because they had already arrived, as with RED (the statistics name the
// codec inside of it). It also records who left, and the ciphers of published and
// received media, and keeps the last statistics.
const watchRoom = `(() => {
	const page = (globalThis.watched = { seen: {}, left: [] });
	globalThis.room = () => showfloorRoom.meeting?.room;
	let listens;
	setInterval(async () => {
		const now = room();
		if (!now) return;
		if (listens !== now) now.on('left', ({ userId, reason }) => reason !== 'replaced' && page.left.push(userId));
		listens = now;
		const { publish, subscribe } = (page.stats = await now.stats());
		page.ciphers = [publish, subscribe].map((of) => [...(of?.values() ?? [])].find((s) => s.type === 'transport')?.srtpCipher);
		subscribe?.forEach((s) => {
			if (s.type !== 'inbound-rtp') return;
			const track = [...now.tracks.values()].find((t) => now.mediaOf(t.id)?.id === s.trackIdentifier);
			if (!track) return;
			const seen = (page.seen[track.userId + '/' + track.source] ??= { loudest: 0, frames: 0 });
			// Over all tracks of this source: a reload begins a new one.
			seen.frames += (s.framesDecoded ?? 0) - (seen.track === track.id ? seen.last : 0);
			Object.assign(seen, { track: track.id, last: s.framesDecoded ?? 0 });
			seen.loudest = Math.max(seen.loudest, s.audioLevel ?? 0);
			seen.again = s.packetsReceived > 100 ? s.packetsDiscarded / s.packetsReceived : 0;
		});
	}, 100);
})(); undefined`

// mediaState returns the last statistics of a page's media as JSON, a line for each track and connection.
const mediaState = `Object.entries(globalThis.watched?.stats ?? {}).flatMap(([of, report]) => [...(report?.values() ?? [])]
	.filter(({ type }) => ['inbound-rtp', 'outbound-rtp', 'media-source', 'candidate-pair'].includes(type))
	.map((s) => of + ' ' + JSON.stringify(s))).join('\n')`

// paintedScreen is a replacement for a shared screen, because headless browsers have no screen.
const paintedScreen = `navigator.mediaDevices.getDisplayMedia = async () => {
	const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
	const paint = canvas.getContext("2d");
	setInterval(() => {
		paint.fillStyle = "hsl(" + ((Date.now() / 20) % 360) + " 60% 40%)";
		paint.fillRect(0, 0, 1280, 720);
		paint.fillStyle = "#fff";
		paint.font = "96px sans-serif";
		paint.fillText("A shared screen", 300, 380);
	}, 100);
	return canvas.captureStream(10);
}; undefined`

// openSession creates a session whose host is ada.
func openSession(a *tenant, in api.SessionInput) api.Session {
	a.t.Helper()
	in.Name, in.HostID = "Weekly planning", "ada"
	return created(a.CreateSessionWithResponse(a.t.Context(), in))(a.t)
}

// invite opens a browser on the page before joining.
func invite(a *tenant, s *server, session api.Session, id, name string) *person {
	a.t.Helper()
	token := created(a.CreateSessionTokenWithResponse(a.t.Context(), session.ID, api.SessionTokenInput{UserID: id, DisplayName: &name}))(a.t)
	return open(a.t, s, session.ID, id, token.Token)
}

// open opens a browser on the room page; more is appended to its URL.
func open(t testing.TB, s *server, room, id, token string, more ...string) *person {
	t.Helper()
	p := &person{t: t, id: id}
	p.tab = browsertest.NewWithDevices(t)
	p.log = browsertest.Watch(t, p.tab)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("media of %s:\n%s", id, browsertest.Value[string](t, p.tab, mediaState))
		}
	})
	browsertest.Look(t, p.tab, 1280, 800, false)
	p.run(chromedp.Navigate(s.url + "/scenarios/conference/?room=" + room + "&token=" + token + strings.Join(more, "")))
	return p
}

func (p *person) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	browsertest.Run(p.t, p.tab, actions...)
}

func (p *person) waits(expression string) {
	p.t.Helper()
	browsertest.WaitFor(p.t, p.tab, expression)
}

func (p *person) clicks(selector string) {
	p.t.Helper()
	p.run(chromedp.Click(chromedp.CSS(selector)))
}

// chooses clicks a button with this text.
func (p *person) chooses(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const button = [...document.querySelectorAll("button")].find((b) => b.checkVisibility() && b.textContent.trim() === %q);
		button?.click();
		return button !== undefined;
	})()`, text))
}

// does opens a participant's menu in the list and chooses from it. A script clicks the button,
// because the page redraws the list at times and the driver would lose the button.
func (p *person) does(userID, what string) {
	p.t.Helper()
	p.shows("people")
	p.waits(fmt.Sprintf(`(() => {
		const button = document.querySelector(".group:last-of-type li[data-user=%s] [aria-haspopup=menu]");
		button?.click();
		return button !== null;
	})()`, userID))
	p.chooses(what)
}

// shows opens a panel.
func (p *person) shows(panel string) {
	p.t.Helper()
	if !browsertest.Value[bool](p.t, p.tab, `document.querySelector("[data-control=`+panel+`]").ariaPressed === "true"`) {
		p.clicks(`[data-control=` + panel + `]`)
	}
	p.waits(`document.querySelector("#panel .` + panel + `-panel") !== null`)
}

const inRoom = `!document.getElementById("room").hidden && room()?.state === "joined"`

// joins enters the room from the page before it.
func (p *person) joins() {
	p.t.Helper()
	p.waits(`!document.getElementById("lobby").hidden && (document.querySelector(".preview").hidden || document.getElementById("preview").videoWidth > 0)`)
	p.run(chromedp.Evaluate[chromedp.Void](watchRoom))
	p.clicks("#join-button")
}

func (p *person) isIn() {
	p.t.Helper()
	p.waits(inRoom)
}

// comesBack reloads the page, which joins again by itself.
func (p *person) comesBack() {
	p.t.Helper()
	p.run(chromedp.Reload())
	p.run(chromedp.Evaluate[chromedp.Void](watchRoom))
	p.isIn()
}

// sees waits until the page shows moving pictures of another participant.
func (p *person) sees(other *person) {
	p.t.Helper()
	frames := fmt.Sprintf(`watched.seen["%s/camera"]?.frames`, other.id)
	p.waits(frames + ` > 0`)
	from := browsertest.Value[int](p.t, p.tab, frames)
	p.waits(fmt.Sprintf(`%s > %d`, frames, from+10))
	p.waits(fmt.Sprintf(`(() => {
		const video = document.querySelector('.tile[data-user=%s] video');
		return video !== null && !video.hidden && video.videoWidth > 0 && video.currentTime > 0;
	})()`, other.id))
}

// hears waits until another participant is louder than silence.
func (p *person) hears(other *person) {
	p.t.Helper()
	p.quiet(other)
	p.waits(fmt.Sprintf(`watched.seen["%s/microphone"].loudest > 0.01`, other.id))
}

// quiet resets the loudest level that was measured of another participant.
func (p *person) quiet(other *person) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`(() => {
		const seen = watched.seen["%s/microphone"];
		if (seen) seen.loudest = 0;
		return seen !== undefined;
	})()`, other.id))
}

// hearsNothing requires silence from another participant while its picture moves for two
// seconds; the microphone of a test's browser beeps each second. On a busy machine a
// browser plays received sound late.
func (p *person) hearsNothing(other *person) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`[...room().tracks.values()].some((t) => t.userId === "%s" && t.source === "microphone" && t.muted)`, other.id))
	until(p.t, "nothing is heard any more", func() bool {
		p.quiet(other)
		for range 4 {
			p.sees(other)
		}
		return browsertest.Value[float64](p.t, p.tab, fmt.Sprintf(`watched.seen["%s/microphone"].loudest`, other.id)) < 0.001
	})
}

// waitForFinalScreen waits for the final screen with this title.
func (p *person) waitForFinalScreen(title string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`!document.getElementById("door").hidden && document.getElementById("door-title").textContent === %q`, title))
}

// noticed waits for this notice above the stage.
func (p *person) noticed(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf(`document.getElementById("notices").textContent.includes(%q)`, text))
}

// isQuiet requires that the page has logged no errors.
func (p *person) isQuiet() {
	p.t.Helper()
	require.Empty(p.t, p.log.Complaints())
}

// through routes a page's media to the server through a relay, over UDP only.
func (p *person) through(r *sfutest.Relay) {
	p.t.Helper()
	p.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const set = RTCPeerConnection.prototype.setRemoteDescription;
		RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
			sdp = sdp.replace(/a=candidate:\S+ \d+ tcp .*\r\n/g, "").replace(/(a=candidate:\S+ \d+ udp \d+ )\S+ \d+( typ host)/g, "$1127.0.0.1 %d$2");
			return set.call(this, { type, sdp });
		};
	})(); undefined`, r.Port())))
}

// participantOf returns a user's participant in a session from the API.
func participantOf(a *tenant, session, user string) api.Participant {
	a.t.Helper()
	answer, err := a.ListSessionParticipantsWithResponse(a.t.Context(), session, nil)
	require.NoError(a.t, err)
	require.Equal(a.t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	for _, p := range *answer.JSON200 {
		if p.UserID == user {
			return p
		}
	}
	a.t.Fatalf("%s is no participant of %s", user, session)
	return api.Participant{}
}

// bringTwo lets two participants join a session. The first one is the host.
func bringTwo(a *tenant, s *server, session api.Session) (ada, ben *person) {
	a.t.Helper()
	ada = invite(a, s, session, "ada", "Ada Okafor")
	ada.joins()
	ada.isIn()
	ben = invite(a, s, session, "ben", "Ben Sato")
	ben.joins()
	ben.isIn()
	return ada, ben
}
