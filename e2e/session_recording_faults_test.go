package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/s3test"
)

// records starts to record a session, and waits until its participant sees that.
func (p *person) records(a *tenant, sessionID string) {
	p.t.Helper()
	created(a.StartSessionRecordingWithResponse(p.t.Context(), sessionID, api.SessionRecordingInput{}))(p.t)
	p.waits(`document.querySelector("#badges .badge-rec")?.textContent === "Recording"`)
}

// endSession ends a session.
func (a *tenant) endSession(sessionID string) {
	a.t.Helper()
	answer, err := a.EndSessionWithResponse(a.t.Context(), sessionID)
	require.NoError(a.t, err)
	require.Equal(a.t, 201, answer.StatusCode(), "%s", answer.Body)
}

// TestAloneStorageAwayWhileAMeetingEnds: the recording of a participant without camera and sound waits for the storage, and nothing is
// missing afterwards. A recording without any participant says so.
func TestAloneStorageAwayWhileAMeetingEnds(t *testing.T) {
	t.Parallel()
	storage := s3test.New(t)
	s := serve(t, onTestDatabase, withKeys(s3test.Secret), set("STORAGE_URL", storage.URL(t, "media")))
	a := signUp(t, s)
	conference := api.SessionInput{Type: api.SessionInputTypeConference}
	empty, session := openSession(a, conference), openSession(a, conference)
	created(a.StartSessionRecordingWithResponse(t.Context(), empty.ID, api.SessionRecordingInput{}))(t)
	ada := invite(a, s, session, "ada", "Ada Okafor")
	ada.joins()
	ada.isIn()
	for _, control := range []string{"microphone", "camera"} {
		ada.clicks("[data-control=" + control + "]")
		ada.waits(`!room().isOn("` + control + `")`)
	}
	ada.records(a, session.ID)
	pause(t, 4*time.Second)
	storage.Stop(t)
	a.endSession(session.ID)
	a.endSession(empty.ID)

	none := a.finalSessionRecording(empty.ID)
	require.Equal(t, api.SessionRecordingStateFailed, none.State)
	require.Contains(t, none.Error.MustGet(), "no participant was in the session's room")
	until(t, "the composed media wait for the storage", func() bool {
		left, err := filepath.Glob(filepath.Join(s.dir, "compose", "import-*", "*"))
		return err == nil && len(left) > 0
	})
	pause(t, 3*time.Second)
	require.Equal(t, api.SessionRecordingStateProcessing, a.sessionRecordings(session.ID)[0].State)
	storage.Start(t)
	r := a.finalSessionRecording(session.ID)
	require.Equal(t, api.SessionRecordingStateReady, r.State, "%+v", r)
	require.True(t, r.IncompleteReason.IsNull(), "%+v", r)
	require.Greater(t, r.DurationSec.MustGet(), 3.0)
	got, err := a.GetRecordingWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.NotNil(t, got.JSON200, "%s", got.Body)
	playWhole(t, *got.JSON200)
}

// TestAloneFullDiskWhileAMeetingIsRecorded: a disk without space ends the recording with that reason, and leaves what was written. It is
// composed when there is space again. A recording that begins meanwhile fails; the meetings go on.
func TestAloneFullDiskWhileAMeetingIsRecorded(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	conference := api.SessionInput{Type: api.SessionInputTypeConference}
	early, late := openSession(a, conference), openSession(a, conference)
	ada := invite(a, s, early, "ada", "Ada Okafor")
	ada.joins()
	ada.isIn()
	ada.records(a, early.ID)
	pause(t, 4*time.Second)
	s.kill()
	s.settings["DISK_LOW"], s.settings["DISK_VERY_LOW"] = "100%", "100%"
	s.start(t)
	ada.waits(`room()?.state === "joined" && document.querySelector("#badges .badge-rec")?.textContent !== "Recording"`)
	until(t, "the recording ends", func() bool { return a.sessionRecordings(early.ID)[0].State == api.SessionRecordingStateProcessing })

	eve := invite(a, s, late, "ada", "Ada Okafor")
	eve.joins()
	eve.isIn()
	created(a.StartSessionRecordingWithResponse(t.Context(), late.ID, api.SessionRecordingInput{}))(t)
	r := a.finalSessionRecording(late.ID)
	require.Equal(t, api.SessionRecordingStateFailed, r.State)
	const reason = "the disk of a server was full"
	require.Contains(t, r.Error.MustGet(), reason)
	eve.isIn()
	require.Equal(t, api.SessionRecordingStateProcessing, a.sessionRecordings(early.ID)[0].State, "it waits for space")

	require.Zero(t, s.terminate(t))
	s.settings["DISK_LOW"], s.settings["DISK_VERY_LOW"] = "0", "0"
	s.start(t)
	r = a.finalSessionRecording(early.ID)
	require.Equal(t, api.SessionRecordingStateReady, r.State, "%+v", r)
	require.Contains(t, r.IncompleteReason.MustGet(), reason)
	require.Greater(t, r.DurationSec.MustGet(), 3.0)
}
