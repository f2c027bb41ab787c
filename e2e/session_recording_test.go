package e2e

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// sessionRecordings lists the recordings of a session.
func (a *tenant) sessionRecordings(sessionID string) []api.SessionRecording {
	a.t.Helper()
	answer, err := a.ListSessionRecordingsWithResponse(a.t.Context(), sessionID, nil)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return *answer.JSON200
}

// finalSessionRecording waits until the only recording of a session is ready or failed.
func (a *tenant) finalSessionRecording(sessionID string) api.SessionRecording {
	a.t.Helper()
	var r api.SessionRecording
	until(a.t, "the session's recording to be final", func() bool {
		list := a.sessionRecordings(sessionID)
		require.Len(a.t, list, 1)
		r = list[0]
		return r.State == api.SessionRecordingStateReady || r.State == api.SessionRecordingStateFailed
	})
	return r
}

// TestAloneAMeetingOnRecord: the host records the session from the room page, and all participants see that. A kill of the server leaves what was
// written, and the room goes on with another part. The recording is ready once, plays to its end, has the files that others have and each
// participant's sound, and can be deleted.
func TestAloneAMeetingOnRecord(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil, api.EventNameSessionRecordingStarted, api.EventNameSessionRecordingStopped)
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
	ada, ben := invite(a, s, session, "ada", "Ada Okafor"), invite(a, s, session, "ben", "Ben Sato")
	for _, p := range []*person{ada, ben} {
		p.toned()
		p.joins()
		p.isIn()
	}
	ada.sees(ben)

	recorded := `document.querySelector("#badges .badge-rec")?.textContent === "Recording"`
	ada.shows("people")
	ada.clicks("[data-tool=record]")
	for _, p := range []*person{ada, ben} {
		p.waits(recorded)
	}
	require.False(t, visible(ben, "[data-tool=record]"), "only the host records")
	pause(t, 6*time.Second)
	s.kill()
	s.start(t)
	for _, p := range []*person{ada, ben} {
		p.waits(`room()?.state === "joined"`)
		p.waits(recorded)
	}
	ada.sees(ben)
	pause(t, 3*time.Second)
	ada.waits(`document.querySelector("[data-tool=record]").textContent === "Stop recording"`)
	ada.clicks("[data-tool=record]")
	for _, p := range []*person{ada, ben} {
		p.waits("!(" + recorded + ")")
	}

	r := a.finalSessionRecording(session.ID)
	require.Equal(t, api.SessionRecordingStateReady, r.State, "%+v", r)
	require.Greater(t, r.DurationSec.MustGet(), 7.0, "both parts")
	t.Logf("%.1f s of video, ready %.1f s after the stop", r.DurationSec.MustGet(), r.UpdatedAt.Sub(r.StoppedAt.MustGet().Time).Seconds())
	got, err := a.GetRecordingWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.NotNil(t, got.JSON200, "%s", got.Body)
	require.Equal(t, session.ID, got.JSON200.SessionID.MustGet())
	playWhole(t, *got.JSON200)
	until(t, "the recording's assets", func() bool {
		answer, err := a.GetRecordingPlaybackURLWithResponse(t.Context(), r.ID)
		return err == nil && answer.JSON200 != nil && !answer.JSON200.Mp4URL.IsNull()
	})
	checkAssets(t, a, *got.JSON200, r.DurationSec.MustGet())
	checkTracks(t, a, r)
	require.Equal(t, []api.EventName{api.EventNameSessionRecordingStarted, api.EventNameSessionRecordingStopped}, hooks.await(r.ID, 2))
	require.Len(t, hooks.settled(a), 2)
	until(t, "the files of the parts are removed", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, "rooms", "*"))
		return err == nil && len(left) == 0
	})
	deleted, err := a.DeleteRecordingWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, 200, deleted.StatusCode(), "%s", deleted.Body)
	require.Empty(t, a.sessionRecordings(session.ID))
}

// visible reports whether an element is shown on a person's page.
func visible(p *person, selector string) bool {
	p.t.Helper()
	return browsertest.Value[bool](p.t, p.tab, `document.querySelector("`+selector+`")?.checkVisibility() ?? false`)
}

// TestAloneKillWhileMeetingsAreRecorded kills the server again and again while two sessions are recorded. Each recording is ready after the
// last start, with all its parts, and is announced once.
func TestAloneKillWhileMeetingsAreRecorded(t *testing.T) {
	rounds, sessions := recordingKills(t)
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil, api.EventNameSessionRecordingStarted, api.EventNameSessionRecordingStopped)
	var people []*person
	recordings := map[string]string{} // of the sessions
	for range sessions {
		session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference})
		ada := invite(a, s, session, "ada", "Ada Okafor")
		ada.joins()
		ada.isIn()
		people = append(people, ada)
		recordings[session.ID] = created(a.StartSessionRecordingWithResponse(t.Context(), session.ID, api.SessionRecordingInput{}))(t).ID
	}
	recorded := `room()?.state === "joined" && document.querySelector("#badges .badge-rec")?.textContent === "Recording"`
	for range rounds {
		for _, p := range people {
			p.waits(recorded)
		}
		pause(t, 500*time.Millisecond+time.Duration(rand.Int64N(int64(2*time.Second))))
		s.kill()
		s.start(t)
	}
	for _, p := range people {
		p.waits(recorded)
	}
	pause(t, time.Second)
	for sessionID := range recordings {
		answer, err := a.EndSessionWithResponse(t.Context(), sessionID)
		require.NoError(t, err)
		require.Equal(t, 201, answer.StatusCode(), "%s", answer.Body)
	}
	for sessionID, recordingID := range recordings {
		r := a.finalSessionRecording(sessionID)
		require.Equal(t, api.SessionRecordingStateReady, r.State, "%+v", r)
		require.Equal(t, recordingID, r.ID)
		require.True(t, r.IncompleteReason.IsNull(), "%+v", r)
		require.Greater(t, r.DurationSec.MustGet(), float64(rounds)/2)
		t.Logf("%.1f s of video, ready %.1f s after the end", r.DurationSec.MustGet(), r.UpdatedAt.Sub(r.StoppedAt.MustGet().Time).Seconds())
		require.Equal(t, []api.EventName{api.EventNameSessionRecordingStarted, api.EventNameSessionRecordingStopped}, hooks.await(recordingID, 2))
	}
	require.Len(t, hooks.settled(a), 2*sessions)
}
