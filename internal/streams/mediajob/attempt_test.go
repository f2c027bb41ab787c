package mediajob_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// newWorker is a rig whose server makes files in a folder. full is the answer to whether the disk is full.
func newWorker(t *testing.T, full func() error) *rig {
	t.Helper()
	dir := t.TempDir()
	files, err := blob.Open(t.Context(), blob.Config{Dir: filepath.Join(dir, "files")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	r := &rig{apitest.New(t, apitest.Options{Pool: dbtest.New(t), Files: files, Renditions: &recordgate.Renditions{
		Files: files, Engine: transcoder.New(), Dir: filepath.Join(dir, "transcodes"), Refuse: full,
	}})}
	r.pass(t, time.Minute)
	return r
}

// failed checks that a transcode is FAILED for a reason.
func (r *rig) failed(t *testing.T, id, reason string) {
	t.Helper()
	row := r.find(t, id)
	require.Equal(t, mediajob.Failed, row.Status)
	require.Equal(t, reason, *row.Error)
}

func noError() error { return nil }

// TestARecordingWithoutMedia: the media is at fault, so the first attempt is the last one.
func TestARecordingWithoutMedia(t *testing.T) {
	t.Parallel()
	r := newWorker(t, noError)
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode))
	r.failed(t, id, "The recording has no media.")
	require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode), "nothing is left to do")
}

// TestALongRecording: the index of its source would need too much memory.
func TestALongRecording(t *testing.T) {
	t.Parallel()
	r := newWorker(t, noError)
	owner, rec := r.recorded(t)
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO recording_takes (recording_id, take, tenant_id, key, node, opened_at, seen_at)
		VALUES ($1, 1, $2, '', '', now(), now())`, rec, owner.TenantID)
	require.NoError(t, err)
	_, err = r.Pool.Exec(t.Context(), `INSERT INTO recording_segments (recording_id, take, seq, tenant_id, init, discontinuity, started_at, duration_us,
		video_us, audio_us, video_bytes, audio_bytes) VALUES ($1, 1, 1, $2, 1, false, now(), $3, $3, $3, 1, 1)`, rec, owner.TenantID, (25 * time.Hour).Microseconds())
	require.NoError(t, err)
	id := r.create(t, owner, rec)
	require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode))
	r.failed(t, id, "The recording is longer than 24 hours.")
}

// TestAStorageThatFails: the transcode is tried each minute for 6 hours. These attempts don't count.
func TestAStorageThatFails(t *testing.T) {
	t.Parallel()
	r := newWorker(t, func() error { return errors.New("the disk is full") })
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	for range 7 {
		require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode))
		again := r.find(t, id)
		require.Equal(t, []any{mediajob.Queued, int32(0)}, []any{again.Status, again.Attempt})
		require.Equal(t, time.Minute, again.DueAt.Sub(r.Clock.Now()).Round(time.Second))
		r.pass(t, time.Minute)
	}
	r.pass(t, 6*time.Hour)
	require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode))
	r.failed(t, id, "The storage failed for 6 hours.")
}

// TestAServerThatStops while it works requeues the transcode at once.
func TestAServerThatStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	r := newWorker(t, func() error {
		stop()
		return errors.New("too late")
	})
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	require.NoError(t, r.MediaJobs.RunNext(ctx, mediajob.Transcode))
	again := r.find(t, id)
	require.Equal(t, []any{mediajob.Queued, int32(0)}, []any{again.Status, again.Attempt})
	require.Zero(t, again.DueAt.Sub(r.Clock.Now()).Round(time.Second))
	require.Equal(t, 2, r.jobs(t, mediajob.RunArgs{}.Kind()))
}

// TestARecordingThatIsDeleted before an attempt makes the transcode FAILED.
func TestARecordingThatIsDeleted(t *testing.T) {
	t.Parallel()
	r := newWorker(t, noError)
	owner, rec := r.recorded(t)
	id := r.create(t, owner, rec)
	_, err := r.Pool.Exec(t.Context(), "UPDATE recordings SET status = $2 WHERE id = $1", rec, recording.Deleted)
	require.NoError(t, err)
	require.NoError(t, r.MediaJobs.RunNext(t.Context(), mediajob.Transcode))
	r.failed(t, id, "The recording was deleted.")
}
