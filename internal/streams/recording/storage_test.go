package recording_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/streams/recording"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/recordingtest"
)

// stored returns the tenant's STORAGE_BYTES of this month.
func (r *rig) stored(t *testing.T) int64 {
	t.Helper()
	p, err := r.Usage.GetUsage(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, reading := range p.Readings {
		if reading.Meter == usage.StorageBytes {
			return reading.Used
		}
	}
	t.Fatal("there is no STORAGE_BYTES")
	return 0
}

func (r *rig) measure(t *testing.T) {
	t.Helper()
	for range 2 {
		require.NoError(t, r.Recordings.MeasureStorage(t.Context()))
	}
}

// TestStorageIsTheHighestOfAMonth: running recordings count too, and deleted ones don't.
func TestStorageIsTheHighestOfAMonth(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.measure(t)
	require.Zero(t, r.stored(t))
	first := r.filmed(t, recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6}})
	_, err := r.Recordings.PutRecordingTextTrack(t.Context(), r.caller, first.ID, recording.TextInput{
		Language: "en", Name: "English", Kind: recording.Subtitles, Content: "WEBVTT",
	})
	require.NoError(t, err)
	_, files := r.filesOf(t, first.ID, "")
	r.measure(t)
	require.Equal(t, files, r.stored(t))

	conn := r.air(t, r.Server)
	views := r.list(t)
	take := r.open(t, r.Server, views[1].ID)
	r.save(t, take, r.Clock.Now(), 1, 2)
	r.measure(t)
	require.Equal(t, files+2*110+30, r.stored(t))
	r.close(t, take, "")
	r.leave(t, conn)

	_, err = r.Recordings.DeleteRecording(t.Context(), r.caller, first.ID)
	require.NoError(t, err)
	r.measure(t)
	require.Equal(t, files+2*110+30, r.stored(t), "the highest value of the month")
	r.Clock.Advance(31 * 24 * time.Hour)
	r.measure(t)
	require.EqualValues(t, 2*110+30, r.stored(t))
}
