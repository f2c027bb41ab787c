package recording_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/streams/recording"
)

// startSession begins to record a session, and returns the recording's id.
func (r *rig) startSession(t *testing.T) (recordingID string) {
	t.Helper()
	var got api.SessionRecording
	r.owner.Call(t, "POST", "/v1/me/sessions/"+r.owner.Session(t, nil).ID+"/recording/start", nil).Into(t, 201, &got)
	return got.ID
}

func (r *rig) openPart(t *testing.T, recordingID string) recording.PartID {
	t.Helper()
	n, err := r.Recordings.OpenPart(t.Context(), recordingID)
	require.NoError(t, err)
	return recording.PartID{RecordingID: recordingID, Part: n}
}

// touch writes a heartbeat a moment later.
func (r *rig) touch(t *testing.T, parts ...recording.PartID) {
	t.Helper()
	r.Clock.Advance(time.Second)
	require.NoError(t, r.Recordings.TouchParts(t.Context(), parts))
}

// here returns the only unfinished part of the node.
func (r *rig) here(t *testing.T) recording.Part {
	t.Helper()
	parts, err := r.Recordings.PartsHere(t.Context())
	require.NoError(t, err)
	require.Len(t, parts, 1)
	return parts[0]
}

// TestAPartWithoutFiles: one of which the node never had files leaves the recording complete; one whose files are lost doesn't.
func TestAPartWithoutFiles(t *testing.T) {
	t.Parallel()
	for begun, reason := range map[bool]string{false: "", true: "a server lost what it had recorded"} {
		r := newRig(t, nil)
		recordingID := r.startSession(t)
		part := r.openPart(t, recordingID)
		if begun {
			r.touch(t, part)
		}
		r.touch(t)
		require.Equal(t, begun, r.here(t).Begun)
		for range 2 {
			require.NoError(t, r.Recordings.LosePart(t.Context(), part, begun))
		}
		other := r.openPart(t, recordingID)
		require.Equal(t, 2, other.Part)
		take, err := r.Recordings.OpenTakeOfPart(t.Context(), other, "key")
		require.NoError(t, err)
		r.save(t, recording.TakeID{RecordingID: recordingID, Take: take}, r.Clock.Now(), 1)
		r.close(t, recording.TakeID{RecordingID: recordingID, Take: take}, "")
		require.NoError(t, r.Recordings.FinishPart(t.Context(), other, ""))
		v := r.get(t, recordingID)
		r.owner.Call(t, "POST", "/v1/me/sessions/"+*v.SessionID+"/end", nil).Is(t, 201)
		r.work(t)
		v = r.get(t, recordingID)
		require.Equal(t, recording.Ready, v.Status)
		if begun {
			require.Equal(t, reason, *v.IncompleteReason)
		} else {
			require.Nil(t, v.IncompleteReason)
		}
	}
}

// TestASilentNodeContinuesItsParts: a part is lost after an hour. If the node comes back before the recording is final, it continues.
func TestASilentNodeContinuesItsParts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	recordingID := r.startSession(t)
	part := r.openPart(t, recordingID)
	r.touch(t, part)
	r.pass(t, 59*time.Minute)
	r.sweep(t)
	require.Equal(t, part, r.here(t).PartID)
	revived, _, err := r.Recordings.RevivePart(t.Context(), part)
	require.NoError(t, err)
	require.False(t, revived, "it isn't lost")

	r.pass(t, 2*time.Minute)
	r.touch(t)
	silent := r.openPart(t, recordingID) // the room has moved, or the recording would be idle
	r.touch(t, silent)
	r.sweep(t)
	require.Equal(t, silent, r.here(t).PartID)
	revived, sessionID, err := r.Recordings.RevivePart(t.Context(), part)
	require.NoError(t, err)
	require.True(t, revived)
	require.Equal(t, *r.get(t, recordingID).SessionID, sessionID)
	parts, err := r.Recordings.PartsHere(t.Context())
	require.NoError(t, err)
	require.Len(t, parts, 2)
	require.False(t, parts[0].Closed)

	for _, p := range []recording.PartID{part, silent} {
		require.NoError(t, r.Recordings.ClosePart(t.Context(), p, ""))
		require.NoError(t, r.Recordings.FinishPart(t.Context(), p, ""))
		revived, _, err = r.Recordings.RevivePart(t.Context(), p)
		require.NoError(t, err)
		require.False(t, revived, "it is composed")
	}
	r.owner.Call(t, "POST", "/v1/me/sessions/"+sessionID+"/end", nil).Is(t, 201)
	r.work(t)
	v := r.get(t, recordingID)
	require.Equal(t, recording.Failed, v.Status, "nothing was stored")
	revived, sessionID, err = r.Recordings.RevivePart(t.Context(), part)
	require.NoError(t, err)
	require.False(t, revived)
	require.NotEmpty(t, sessionID)
	revived, sessionID, err = r.Recordings.RevivePart(t.Context(), recording.PartID{RecordingID: "rec_0", Part: 1})
	require.NoError(t, err)
	require.False(t, revived)
	require.Empty(t, sessionID)
}

// TestAnIdleRecordingOfASession ends an hour after its last part was lost: until then the part may come back.
func TestAnIdleRecordingOfASession(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	recordingID := r.startSession(t)
	r.touch(t, r.openPart(t, recordingID))
	r.pass(t, time.Hour)
	r.sweep(t)
	require.Equal(t, recording.Recording, r.get(t, recordingID).Status)
	r.pass(t, time.Second)
	r.sweep(t) // it is lost
	require.Equal(t, recording.Recording, r.get(t, recordingID).Status)
	r.pass(t, time.Hour+time.Second)
	r.sweep(t)
	v := r.get(t, recordingID)
	require.Equal(t, recording.Processing, v.Status)
	var se api.Session
	r.owner.Call(t, "GET", "/v1/me/sessions/"+*v.SessionID, nil).Into(t, 200, &se)
	require.True(t, se.RecordingID.IsNull())
	r.owner.Call(t, "POST", "/v1/me/sessions/"+*v.SessionID+"/recording/start", nil).Is(t, 201)
}
