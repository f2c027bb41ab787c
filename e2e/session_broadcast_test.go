package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// painted replaces a person's camera by one color, before the person joins.
func (p *person) painted(color string) {
	p.t.Helper()
	script := fmt.Sprintf(`(() => {
		const devices = navigator.mediaDevices;
		if (!devices) return;
		const capture = devices.getUserMedia.bind(devices);
		devices.getUserMedia = async (constraints) => {
			if (!constraints?.video) return capture(constraints);
			const canvas = Object.assign(document.createElement("canvas"), { width: 640, height: 360 });
			const paint = canvas.getContext("2d");
			setInterval(() => {
				paint.fillStyle = %q;
				paint.fillRect(0, 0, 640, 360);
				paint.fillStyle = "#000";
				paint.fillRect((Date.now() / 10) %% 600, 0, 10, 10);
			}, 66);
			return canvas.captureStream(15);
		};
	})()`, color)
	_, err := chromedp.Call(p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(p.t, err)
}

// broadcastOf returns the broadcast of a session.
func (a *tenant) broadcastOf(sessionID string) api.StreamBroadcast {
	a.t.Helper()
	answer, err := a.GetSessionWithResponse(a.t.Context(), sessionID)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return answer.JSON200.Broadcast.MustGet()
}

// colors counts the pictures of a video whose middle is red and blue.
func colors(t *testing.T, path string) (red, blue int) {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-an", "-vf", "crop=200:200,scale=1:1,format=rgb24",
		"-f", "rawvideo", "-").Output()
	require.NoError(t, err)
	for ; len(raw) >= 3; raw = raw[3:] {
		switch r, b := int(raw[0]), int(raw[2]); {
		case r > b+100:
			red++
		case b > r+100:
			blue++
		}
	}
	return red, blue
}

// TestAloneAMeetingOnAir: a session is broadcast into a stream, which plays with both tracks and is restreamed. The restream has the
// tones of both participants, and the pictures of the speakers. After kill -9 the broadcast goes on. A stop ends the stream.
func TestAloneAMeetingOnAir(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	db, err := pgx.Connect(t.Context(), s.settings["DATABASE_URL"])
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), "UPDATE tenants SET plan = 'PRO'")
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := invite(a, s, session, "ada", "Ada Okafor"), invite(a, s, session, "ben", "Ben Sato")
	for p, color := range map[*person]string{ada: "red", ben: "blue"} {
		p.painted(color)
		p.toned()
		p.joins()
		p.isIn()
	}
	ada.sees(ben)

	stream := a.newStream(api.StreamModeLOWLATENCY, 600)
	listenAt := "rtmp://" + freeAddr(t) + "/live/key-of-the-listener"
	file := filepath.Join(t.TempDir(), "out.flv")
	listener := ffmpeg(t, "-listen", "1", "-i", listenAt, "-c", "copy", file)
	created(a.AttachRestreamTargetsWithResponse(t.Context(), stream.ID, api.RestreamAttachmentInput{
		TargetIds: []string{a.restreamTarget(listenAt).ID},
	}))(t)
	asked := time.Now()
	created(a.StartSessionBroadcastWithResponse(t.Context(), session.ID, api.StreamBroadcastInput{StreamID: stream.ID}))(t)
	a.await(stream.ID, api.StreamStatusLIVE)
	t.Logf("on air after %.1f s", time.Since(asked).Seconds())
	until(t, "the session is on air", func() bool { return a.broadcastOf(session.ID).State == api.StreamBroadcastStateLive })
	ben.waits(`document.getElementById("on-air") !== null`)
	probeTracks(t, a.playback(stream.ID).URL, 1280, 720)
	until(t, "health", func() bool { return a.stream(stream.ID).Health.Fps > 10 })

	for _, p := range []*person{ben, ada} { // the other one speaks
		_, err := a.MuteSessionParticipantWithResponse(t.Context(), session.ID, api.MuteInput{UserID: p.id})
		require.NoError(t, err)
		pause(t, 5*time.Second)
		p.clicks("[data-control=microphone]")
		pause(t, time.Second)
	}

	s.kill()
	listener.wait(t)
	red, blue := colors(t, file)
	require.Greater(t, red, 30)
	require.Greater(t, blue, 30)
	for _, tone := range tones {
		require.Greater(t, loud(levels(t, file, tone)), 50)
	}
	s.start(t)
	for _, p := range []*person{ada, ben} {
		p.waits(`room()?.state === "joined"`)
	}
	a.await(stream.ID, api.StreamStatusLIVE)
	probeTracks(t, a.playback(stream.ID).URL, 1280, 720)
	require.Equal(t, api.StreamBroadcastStateLive, a.broadcastOf(session.ID).State)

	stopped, err := a.StopSessionBroadcastWithResponse(t.Context(), session.ID)
	require.NoError(t, err)
	require.Equal(t, api.StreamBroadcastEndReasonStopped, stopped.JSON200.Reason.MustGet(), "%s", stopped.Body)
	a.await(stream.ID, api.StreamStatusRECONNECTING)
	ben.waits(`document.getElementById("on-air") === null`)
	ada.isIn()
}
