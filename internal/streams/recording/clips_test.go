package recording_test

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/problem"
	"showfloor/internal/console/platform"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/recordingtest"
	"showfloor/internal/testkit/s3test"
)

// upload copies the local files of a recording to the store.
func (r *rig) upload(t *testing.T, recordingID string) {
	t.Helper()
	paths, _ := r.filesOf(t, recordingID, "")
	for _, path := range paths {
		key, err := filepath.Rel(r.files, path)
		require.NoError(t, err)
		_, err = r.store.PutFile(t.Context(), key, path)
		require.NoError(t, err)
	}
}

// clip creates a clip.
func (r *rig) clip(t *testing.T, recordingID string, from, to time.Duration) recording.View {
	t.Helper()
	v, err := r.Recordings.CreateRecordingClip(t.Context(), r.caller, recordingID, recording.ClipInput{From: from, To: to})
	require.NoError(t, err)
	require.Equal(t, recording.Processing, v.Status)
	return v
}

// cut creates a clip and makes it.
func (r *rig) cut(t *testing.T, recordingID string, from, to time.Duration) recording.View {
	t.Helper()
	v := r.clip(t, recordingID, from, to)
	require.NoError(t, r.Recordings.MakeClip(t.Context(), v.ID))
	v = r.get(t, v.ID)
	require.Equal(t, recording.Ready, v.Status, "%v", v.Error)
	return v
}

// serve serves the recordings, and returns the URL of a recording's playlist.
func (r *rig) serve(t *testing.T) func(v recording.View) string {
	t.Helper()
	gate := recordgate.New(func() *recording.Service { return r.Recordings }, r.store, slog.New(slog.DiscardHandler))
	s := httptest.NewServer(vod.New(vod.Config{Tokens: r.Playback, Source: gate, Files: gate, Now: r.Clock.Now}))
	t.Cleanup(s.Close)
	return func(v recording.View) string { return s.URL + (*v.URL)[strings.Index(*v.URL, vod.Prefix):] }
}

// plays decodes a playlist and returns the number of pictures or frames of sound; ffmpeg must not complain.
func plays(t *testing.T, url, track string) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "warning", "-nostdin", "-i", url, "-map", "0", "-f", "null", "-").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		require.Contains(t, line, "Found duplicated MOOV Atom", "%s", out) // it reads the first initialization section only
	}
	out, err = exec.CommandContext(t.Context(), "ffprobe", "-v", "fatal", "-count_frames", "-select_streams", track, "-show_entries",
		"stream=nb_read_frames", "-of", "csv=p=0", url).CombinedOutput()
	require.NoError(t, err, "%s", out)
	n, err := strconv.Atoi(strings.Fields(strings.ReplaceAll(string(out), ",", " "))[0])
	require.NoError(t, err)
	return n
}

// eventful is a recording of 28 s with B-frames, changed settings and a restart.
func eventful() []recordingtest.Part {
	return []recordingtest.Part{
		{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}},
		{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}},
		{Clip: recordingtest.Clip{Seconds: 9, From: 19}, NewTake: true, Continued: true},
	}
}

// TestClips: from and to are at key pictures or not, in the same segment, in other parts, and at the recording's ends.
func TestClips(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T, dir string) blob.Store{
		"folder": func(t *testing.T, dir string) blob.Store { t.Helper(); return openStore(t, blob.Config{Dir: dir}) },
		"S3": func(t *testing.T, _ string) blob.Store {
			t.Helper()
			s := s3test.New(t)
			return openStore(t, blob.Config{URL: s.URL(t, "media"), Keys: blob.Keys{ID: s3test.ID, Secret: s3test.Secret}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := newRigWith(t, apitest.Options{}, recorded(0), store(t, dir), dir)
			rec := r.filmed(t, eventful()...)
			r.upload(t, rec.ID)
			url := r.serve(t)
			whole := time.Duration(*rec.DurationMs) * time.Millisecond
			for _, span := range [][2]time.Duration{
				{0, whole}, {0, time.Second}, {4 * time.Second, 8 * time.Second}, {4700 * time.Millisecond, 6300 * time.Millisecond},
				{5 * time.Second, 15500 * time.Millisecond}, {7 * time.Second, 24 * time.Second}, {whole - 1500*time.Millisecond, whole},
			} {
				v := r.cut(t, rec.ID, span[0], span[1])
				from, to := ms(*v.ClipFromMs), ms(*v.ClipToMs)
				require.LessOrEqual(t, from, span[0]+time.Millisecond)
				require.Greater(t, from, span[0]-2*time.Second, "key pictures are 2 s apart")
				require.GreaterOrEqual(t, to, span[1]-time.Millisecond)
				require.Less(t, to, span[1]+400*time.Millisecond, "%v", span)
				length := ms(*v.DurationMs)
				require.InDelta(t, (to - from).Seconds(), length.Seconds(), 0.0011)
				require.InDelta(t, length.Seconds()*10, plays(t, url(v), "v"), 3, "%v: the source has 28.2 s and 280 pictures", span)
				require.Greater(t, plays(t, url(v), "a"), int((length.Seconds()-0.2)*46)-2, "%v: the source has no sound before its first picture", span)
				require.WithinDuration(t, rec.StartedAt.Add(from), v.StartedAt, 2*time.Millisecond)
				require.WithinDuration(t, rec.StartedAt.Add(to), *v.EndedAt, 2*time.Millisecond)
			}
			again := r.cut(t, r.cut(t, rec.ID, 3*time.Second, 20*time.Second).ID, 4*time.Second, 10*time.Second)
			require.Positive(t, plays(t, url(again), "v"))
		})
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// TestAClipIsARecordingOfItsOwn: it has its own files, timeline and event, and costs no minutes of recording.
func TestAClipIsARecordingOfItsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t, recordingtest.Part{Clip: recordingtest.Clip{Seconds: 14}})
	_, err := r.Pool.Exec(t.Context(), `UPDATE recordings SET product_timeline =
		'[{"ts":0,"productId":"a"},{"ts":3.5,"productId":"b"},{"ts":6.25,"productId":"c"},{"ts":12,"productId":"d"}]' WHERE id = $1`, rec.ID)
	require.NoError(t, err)
	v := r.cut(t, rec.ID, 4*time.Second, 10*time.Second)
	require.Equal(t, []recording.Pin{{TS: 0, ProductID: "b"}, {TS: 2.25, ProductID: "c"}}, v.Timeline)
	require.Equal(t, rec.ID, *v.ClipOf)
	_, size := r.filesOf(t, v.ID, "")
	require.Equal(t, size, *v.SizeBytes)
	events := r.ready(t)
	require.Len(t, events, 2)
	require.Equal(t, v.ID, events[1]["recordingId"])
	require.Equal(t, rec.ID, events[1]["clipOfRecordingId"])
	require.Nil(t, events[0]["clipOfRecordingId"])
	require.NoError(t, r.Recordings.FinishRecording(t.Context(), v.ID))
	var minutes int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM usage_intervals WHERE resource_id = $1`, v.ID).Scan(&minutes))
	require.Zero(t, minutes)

	_, err = r.Recordings.DeleteRecording(t.Context(), r.caller, rec.ID)
	require.NoError(t, err)
	require.NoError(t, r.Recordings.DeleteFiles(t.Context(), rec.ID))
	require.Equal(t, 60, plays(t, r.serve(t)(v), "v"))
}

// TestAClipOfSound is cut within a frame.
func TestAClipOfSound(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t,
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, Blind: true}, NewTake: true, Continued: true})
	v := r.cut(t, rec.ID, 3300*time.Millisecond, 12700*time.Millisecond)
	require.InDelta(t, 3.3, ms(*v.ClipFromMs).Seconds(), 0.025)
	require.InDelta(t, 12.7, ms(*v.ClipToMs).Seconds(), 0.025)
	require.InDelta(t, 9.4*48000/1024, plays(t, r.serve(t)(v), "a"), 2)
}

// killer ends a context at the n-th file that is put, as a process that is killed.
type killer struct {
	blob.Store

	left int
	kill context.CancelFunc
}

// Put implements blob.Writer.
func (k *killer) Put(ctx context.Context, key string, in io.Reader, size int64) (blob.Info, error) {
	if k.left--; k.left < 0 {
		k.kill()
		return blob.Info{}, context.Canceled
	}
	return k.Store.Put(ctx, key, in, size)
}

func TestAClipIsMadeInSpiteOfKills(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t, eventful()...)
	want := r.cut(t, rec.ID, 5*time.Second, 24*time.Second)
	files := func(recordingID string) map[string]string {
		list := map[string]string{}
		paths, _ := r.filesOf(t, recordingID, "")
		for _, path := range paths {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			list[filepath.Base(path)] = string(b)
		}
		return list
	}
	whole := files(want.ID)
	v := r.clip(t, rec.ID, 5*time.Second, 24*time.Second)
	source, err := r.Recordings.Media(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	for range 4 {
		ctx, kill := context.WithCancel(t.Context())
		_, err := recordgate.Clips{Files: &killer{r.store, 2, kill}}.MakeClip(ctx, source, v.ID, 5*time.Second, 24*time.Second)
		require.Error(t, err)
		kill()
	}
	r.sweep(t)
	r.sweep(t)
	var jobs int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'recording_make_clip' AND args->>'recordingId' = $1`,
		v.ID).Scan(&jobs))
	require.Equal(t, 1, jobs)
	require.Equal(t, recording.Processing, r.get(t, v.ID).Status, "the sweep finalizes no clip")
	for range 2 {
		require.NoError(t, r.Recordings.MakeClip(t.Context(), v.ID))
	}
	require.Equal(t, whole, files(v.ID))
	require.Len(t, r.ready(t), 3)
	require.Equal(t, want.DurationMs, r.get(t, v.ID).DurationMs)
}

// TestAClipOfASuspendedTenant is made: a suspension stops the playback, not the jobs.
func TestAClipOfASuspendedTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t, recordingtest.Part{Clip: recordingtest.Clip{Seconds: 14}})
	v := r.clip(t, rec.ID, 0, 8*time.Second)
	_, err := r.Console.SuspendTenant(t.Context(), platform.Caller{AdminID: "adm_1"}, r.owner.TenantID, "unpaid")
	require.NoError(t, err)
	_, err = r.Recordings.Media(t.Context(), rec.ID, nil)
	require.True(t, problem.Is(err, "not_found"))
	require.NoError(t, r.Recordings.MakeClip(t.Context(), v.ID))
	require.Equal(t, recording.Ready, r.get(t, v.ID).Status)
}

func TestAClipOfADeletedRecordingFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t, recordingtest.Part{Clip: recordingtest.Clip{Seconds: 14}})
	early, late := r.clip(t, rec.ID, 0, 8*time.Second), r.clip(t, rec.ID, 0, 8*time.Second)
	// The files are gone already, and the row isn't: the job is repeated.
	files, _ := r.filesOf(t, rec.ID, "")
	for _, path := range files {
		require.NoError(t, os.Remove(path))
	}
	require.ErrorIs(t, r.Recordings.MakeClip(t.Context(), early.ID), blob.ErrNotFound)
	_, err := r.Recordings.DeleteRecording(t.Context(), r.caller, rec.ID)
	require.NoError(t, err)
	for _, v := range []recording.View{early, late} {
		for range 2 {
			require.NoError(t, r.Recordings.MakeClip(t.Context(), v.ID))
		}
		v = r.get(t, v.ID)
		require.Equal(t, recording.Failed, v.Status)
		require.Equal(t, "the recording was deleted while the clip was made", *v.Error)
	}
	left, _ := r.filesOf(t, early.ID, "")
	require.Empty(t, left)
	_, err = r.Recordings.CreateRecordingClip(t.Context(), r.caller, rec.ID, recording.ClipInput{To: time.Second})
	require.True(t, problem.Is(err, "conflict"), "%v", err)
}
