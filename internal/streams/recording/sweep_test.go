package recording_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
)

func TestSweepClosesSilentTakes(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	conn := r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	r.leave(t, conn)
	r.Clock.Advance(61 * time.Second)
	r.sweep(t) // this node has written no heartbeats either
	require.Empty(t, r.work(t))
	r.pass(t, 59*time.Second)
	_, err := r.Recordings.BeatTakes(t.Context(), []recording.TakeID{take})
	require.NoError(t, err)
	r.pass(t, 60*time.Second)
	r.sweep(t)
	require.Empty(t, r.work(t), "not longer than a minute")
	r.pass(t, time.Second)
	r.sweep(t)
	r.sweep(t)
	r.work(t)
	require.Equal(t, "the recorder stopped responding", *r.only(t, recording.Ready).IncompleteReason)
	ended, err := r.Recordings.BeatTakes(t.Context(), []recording.TakeID{take})
	require.NoError(t, err)
	require.Equal(t, []recording.TakeID{take}, ended)
	events := r.ready(t)
	require.Len(t, events, 1)
	require.Equal(t, "the recorder stopped responding", events[0]["incompleteReason"])
}

// TestASilentNodeContinuesItsTakes: as long as the recording isn't final.
func TestASilentNodeContinuesItsTakes(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string]func(ctx context.Context, r *rig, take recording.TakeID) error{
		"heartbeat": func(ctx context.Context, r *rig, take recording.TakeID) error {
			ended, err := r.Recordings.BeatTakes(ctx, []recording.TakeID{take})
			if len(ended) > 0 {
				return errors.New("the take has ended")
			}
			return err
		},
		"segments": func(ctx context.Context, r *rig, take recording.TakeID) error {
			return r.Recordings.SaveSegments(ctx, take.RecordingID, take.Take, nil, []recording.Segment{segment(2, r.Clock.Now())})
		},
		"opening": func(ctx context.Context, r *rig, take recording.TakeID) error {
			n, err := r.Recordings.OpenTake(ctx, take.RecordingID, "key")
			if err == nil && n != take.Take {
				return errors.New("it is another take")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, recorded(600))
			other := apitest.New(t, apitest.Options{Pool: r.Pool})
			conn := r.air(t, r.Server)
			n, err := r.Recordings.OpenTake(t.Context(), r.only(t, recording.Recording).ID, "key")
			require.NoError(t, err)
			take := recording.TakeID{RecordingID: r.only(t, recording.Recording).ID, Take: n}
			r.save(t, take, r.Clock.Now(), 1)
			r.pass(t, 2*time.Minute)
			r.sweep(t)
			require.Error(t, other.Recordings.SaveSegments(t.Context(), take.RecordingID, take.Take, nil, nil), "it is another node's take")
			require.NoError(t, resume(t.Context(), r, take))
			open, err := r.Recordings.OpenTakes(t.Context())
			require.NoError(t, err)
			require.Len(t, open, 1)
			r.save(t, take, r.Clock.Now(), 3)

			r.pass(t, 2*time.Minute)
			r.sweep(t)
			r.leave(t, conn)
			require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
			r.only(t, recording.Processing)
			require.NoError(t, resume(t.Context(), r, take))
			require.Equal(t, []string{"recording_finalize"}, r.work(t))
			r.only(t, recording.Processing)
			r.pass(t, 2*time.Minute)
			r.sweep(t)
			r.close(t, take, "")
			r.work(t)
			require.Nil(t, r.only(t, recording.Ready).IncompleteReason)
			require.Error(t, resume(t.Context(), r, take))
		})
	}
}

// TestAFinalRecordingKeepsItsReason: what a silent node has is too late.
func TestAFinalRecordingKeepsItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	conn := r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	r.leave(t, conn)
	r.pass(t, 2*time.Minute)
	r.sweep(t)
	r.work(t)
	require.Error(t, r.Recordings.SaveSegments(t.Context(), take.RecordingID, take.Take, nil, []recording.Segment{segment(2, r.Clock.Now())}))
	r.close(t, take, "")
	require.Equal(t, "the recorder stopped responding", *r.only(t, recording.Ready).IncompleteReason)
}

func TestSweepEndsARecordingWithoutARecorder(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	r.pass(t, 10*time.Minute)
	_, err := r.Recordings.BeatTakes(t.Context(), []recording.TakeID{take})
	require.NoError(t, err)
	r.sweep(t)
	r.only(t, recording.Recording)
	r.close(t, take, "")
	for _, status := range []string{recording.Recording, recording.Recording, recording.Processing} {
		r.sweep(t)
		r.only(t, status)
		r.pass(t, 61*time.Second)
	}
	r.work(t)
	require.Equal(t, "no recorder worked on it for two minutes", *r.only(t, recording.Ready).IncompleteReason)
}

// TestSweepWaitsForTheEncoder: in a reconnect window there is nothing to record.
func TestSweepWaitsForTheEncoder(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(1800))
	conn := r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.close(t, take, "")
	r.leave(t, conn)
	r.pass(t, 20*time.Minute)
	r.sweep(t)
	r.air(t, r.Server)
	r.sweep(t)
	r.only(t, recording.Recording)
}

func TestSweepEndsStrandedRecordings(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.air(t, r.Server)
	r.exec(t, "UPDATE streams SET status = 'ENDED', ended_at = now() WHERE id = $1", r.st.ID)
	r.sweep(t)
	r.only(t, recording.Processing)
	require.Equal(t, []string{"recording_finalize"}, r.work(t))
	r.only(t, recording.Failed)
}

func TestSweepAddsLostJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	r.leave(t, r.air(t, r.Server))
	r.exec(t, "DELETE FROM river_job")
	r.sweep(t)
	r.sweep(t)
	require.Equal(t, []string{"recording_finalize"}, r.work(t))
	rec := r.only(t, recording.Failed)
	_, err := r.Recordings.DeleteRecording(t.Context(), r.caller, rec.ID)
	require.NoError(t, err)
	r.exec(t, "DELETE FROM river_job")
	r.pass(t, 61*time.Second)
	r.sweep(t)
	require.Equal(t, []string{"recording_delete_files"}, r.work(t))
	r.sweep(t)
	require.Empty(t, r.work(t))
	r.passDay(t)
	require.Equal(t, []string{"recording_delete_files"}, r.work(t), "the one of the next day")
	r.sweep(t)
	require.Empty(t, r.work(t))
}

// passDay makes the scheduled jobs available.
func (r *rig) passDay(t *testing.T) {
	t.Helper()
	r.exec(t, "UPDATE river_job SET state = 'available' WHERE state = 'scheduled'")
}

func (r *rig) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := r.Pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// made is a READY recording with a file.
func (r *rig) made(t *testing.T) (recordingID, file string) {
	t.Helper()
	conn := r.air(t, r.Server)
	views := r.list(t)
	take := r.open(t, r.Server, views[len(views)-1].ID)
	r.save(t, take, r.Clock.Now(), 1)
	file = filepath.Join(r.files, recordfile.Folder(take.RecordingID), "1-1-v.m4s")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	r.leave(t, conn)
	r.close(t, take, "")
	r.work(t)
	require.Equal(t, recording.Ready, r.get(t, take.RecordingID).Status)
	return take.RecordingID, file
}

func TestDeletionRemovesTheFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	recordingID, file := r.made(t)
	kept, keptFile := r.made(t)
	for range 2 {
		v, err := r.Recordings.DeleteRecording(t.Context(), r.caller, recordingID)
		require.NoError(t, err)
		require.Equal(t, recording.Deleted, v.Status)
		require.Nil(t, v.URL)
	}
	_, err := r.Recordings.GetRecordingPlaybackURL(t.Context(), r.caller, recordingID)
	require.True(t, problem.Is(err, "conflict"))
	_, err = r.Recordings.Media(t.Context(), recordingID, nil)
	require.True(t, problem.Is(err, "not_found"))
	require.FileExists(t, file)
	require.Equal(t, []string{"recording_delete_files"}, r.work(t))
	require.NoFileExists(t, file)
	var scheduled time.Time
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT scheduled_at FROM river_job WHERE kind = 'recording_delete_files'").Scan(&scheduled))
	require.WithinDuration(t, r.Clock.Now().Add(24*time.Hour), scheduled, time.Second)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600)) // an upload that was running
	r.passDay(t)
	require.Equal(t, []string{"recording_delete_files"}, r.work(t))
	require.NoFileExists(t, file)
	require.Empty(t, r.work(t))
	err = r.Recordings.SaveSegments(t.Context(), recordingID, 1, nil, []recording.Segment{segment(2, r.Clock.Now())})
	require.True(t, problem.Is(err, "not_found"), "%v", err)
	require.Equal(t, []string{"recording_delete_files"}, r.work(t), "of a recorder that comes later still")
	require.NoError(t, r.Recordings.DeleteFiles(t.Context(), recordingID))
	require.NoError(t, r.Recordings.DeleteFiles(t.Context(), kept))
	require.FileExists(t, keptFile)
	require.Equal(t, kept, r.only(t, recording.Ready).ID)
}

func TestRetentionAndLegalHold(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	expired, _ := r.made(t)
	held, _ := r.made(t)
	longer, _ := r.made(t)
	forever, _ := r.made(t)
	set := func(id string, in recording.RetentionChange) {
		_, err := r.Recordings.UpdateAdminRecordingRetention(t.Context(), r.caller.Actor(), id, in)
		require.NoError(t, err)
	}
	set(held, recording.RetentionChange{LegalHold: new(true)})
	set(longer, recording.RetentionChange{SetRetain: true, RetainUntil: new(r.Clock.Now().AddDate(0, 1, 0))})
	set(forever, recording.RetentionChange{SetRetain: true})
	r.Clock.Advance(7*24*time.Hour - time.Second)
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	require.Len(t, r.list(t), 4)
	r.Clock.Advance(2 * time.Second)
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	require.Len(t, r.list(t), 3)
	v := r.get(t, expired)
	require.Equal(t, recording.Deleted, v.Status)
	require.Nil(t, v.DeletedReason)
	_, err := r.Recordings.DeleteRecording(t.Context(), r.caller, held)
	require.True(t, problem.Is(err, "conflict"))
	_, err = r.Recordings.DeleteAdminRecording(t.Context(), r.caller.Actor(), held, "why not")
	require.True(t, problem.Is(err, "conflict"))
	set(held, recording.RetentionChange{LegalHold: new(false)})
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	require.Len(t, r.list(t), 2)
	r.Clock.Advance(60 * 24 * time.Hour)
	require.NoError(t, r.Recordings.DeleteOld(t.Context()))
	require.Equal(t, forever, r.only(t, recording.Ready).ID)
}

func TestPinsBecomeTheTimeline(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(60))
	vase, lamp := r.owner.Product(t, map[string]any{"externalId": "vase", "name": "Vase"}).ID,
		r.owner.Product(t, map[string]any{"externalId": "lamp", "name": "Lamp"}).ID
	pin := func(product string) {
		require.NoError(t, r.Chat.PinProduct(t.Context(), chat.PinInput{TenantID: r.owner.TenantID, RoomID: r.st.ID, ProductID: product}))
	}
	pin(vase)
	r.Clock.Advance(time.Minute)
	conn := r.air(t, r.Server)
	take := r.open(t, r.Server, r.only(t, recording.Recording).ID)
	r.save(t, take, r.Clock.Now(), 1)
	r.Clock.Advance(1500 * time.Millisecond)
	pin(lamp)
	require.Equal(t, []recording.Pin{{TS: 0, ProductID: vase}, {TS: 1.5, ProductID: lamp}}, r.only(t, recording.Recording).Timeline)
	r.leave(t, conn)
	r.Clock.Advance(30 * time.Second)
	pin(vase)
	r.Clock.Advance(10 * time.Second)
	r.air(t, r.Server)
	require.NoError(t, r.Recordings.SaveSegments(t.Context(), take.RecordingID, take.Take, nil, []recording.Segment{
		{Number: 2, Init: 1, Discontinuity: true, StartedAt: r.Clock.Now(), Duration: 4 * time.Second},
	}))
	r.Clock.Advance(time.Second)
	pin(lamp)
	r.Clock.Advance(time.Second)
	require.NoError(t, r.Streams.ForceStopStream(t.Context(), r.caller.Actor(), r.st.ID, "enough"))
	r.close(t, take, "")
	r.work(t)
	r.Clock.Advance(time.Second)
	pin(vase)
	require.Equal(t, []recording.Pin{
		{TS: 0, ProductID: vase}, {TS: 1.5, ProductID: lamp}, {TS: 4, ProductID: vase}, {TS: 5, ProductID: lamp},
	}, r.only(t, recording.Ready).Timeline)
	m, err := r.Recordings.Media(t.Context(), take.RecordingID, nil)
	require.NoError(t, err)
	require.Equal(t, []recording.Chapter{
		{At: 0, Title: "Vase"}, {At: 1500 * time.Millisecond, Title: "Lamp"}, {At: 4 * time.Second, Title: "Vase"}, {At: 5 * time.Second, Title: "Lamp"},
	}, m.Chapters)
	require.False(t, m.Storyboard)
}
