package recording_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/recordingtest"
)

// filmed stores a READY recording with real files.
func (r *rig) filmed(t *testing.T, parts ...recordingtest.Part) recording.View {
	t.Helper()
	conn := r.air(t, r.Server)
	rec := r.only(t, recording.Recording)
	takes := map[int]recording.TakeID{}
	take := func(number int) recording.TakeID {
		if _, known := takes[number]; !known {
			takes[number] = r.open(t, r.Server, rec.ID)
		}
		return takes[number]
	}
	m := recordingtest.Make(t, r.files, rec.ID, parts...)
	for _, i := range m.Inits {
		require.NoError(t, r.Recordings.SaveSegments(t.Context(), rec.ID, take(i.Take).Take, []recording.Init{initOf(i)}, nil))
	}
	shift := r.Clock.Now().Sub(m.Segments[0].StartedAt)
	for _, g := range m.Segments {
		s := segmentOf(g)
		s.StartedAt = s.StartedAt.Add(shift)
		require.NoError(t, r.Recordings.SaveSegments(t.Context(), rec.ID, take(g.Take).Take, nil, []recording.Segment{s}))
	}
	r.pass(t, m.Length().Truncate(time.Second))
	r.leave(t, conn)
	for _, t2 := range takes {
		r.close(t, t2, "")
	}
	r.work(t)
	return r.only(t, recording.Ready)
}

func initOf(i vod.Init) recording.Init {
	return recording.Init{
		Number: i.Number, Codecs: i.Codecs, Width: i.Width, Height: i.Height, FrameRate: i.FrameRate, VideoBytes: i.VideoBytes, AudioBytes: i.AudioBytes,
	}
}

func segmentOf(g vod.Segment) recording.Segment {
	return recording.Segment{
		Number: g.Number, Init: g.Init, Discontinuity: g.Discontinuity, StartedAt: g.StartedAt, Duration: g.Duration,
		Video: g.Duration, Audio: g.Duration, VideoBytes: g.VideoBytes, AudioBytes: g.AudioBytes,
	}
}

// filesOf returns the paths of files below the folder of a recording, and the sum of their sizes.
func (r *rig) filesOf(t *testing.T, recordingID, folder string) (paths []string, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(r.files, "recordings", recordingID, folder), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there are none
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		paths, bytes = append(paths, path), bytes+info.Size()
		return err
	})
	require.NoError(t, err)
	return paths, bytes
}

func TestTextTracksAreReplacedAndRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t,
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6, From: 6}, NewTake: true})
	put := func(content string) recording.TextTrack {
		track, err := r.Recordings.PutRecordingTextTrack(t.Context(), r.caller, rec.ID, recording.TextInput{
			Language: "en", Name: "English", Kind: recording.Subtitles, Content: content,
		})
		require.NoError(t, err)
		return track
	}
	const first, second = "WEBVTT\n\n00:01.000 --> 00:08.000\nHello\n", "WEBVTT\n\n00:01.000 --> 00:08.000\nHello, world\n"
	old := put(first)
	_, bytes := r.filesOf(t, rec.ID, "text")
	require.Equal(t, bytes, old.SizeBytes)
	require.Equal(t, *rec.SizeBytes+bytes, *r.get(t, rec.ID).SizeBytes)
	require.Equal(t, old, put(first), "the same again has no effect")

	fresh := put(second)
	require.NotEqual(t, old.Version, fresh.Version)
	require.Equal(t, *rec.SizeBytes+fresh.SizeBytes, *r.get(t, rec.ID).SizeBytes)
	m, err := r.Recordings.Media(t.Context(), rec.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []recording.TextTrack{fresh}, m.Texts)
	files, _ := r.filesOf(t, rec.ID, "text")
	require.Len(t, files, 4, "viewers may still load the old files")

	// All jobs together: of the first version, of the second, and again of the first, which was replaced.
	for range 2 {
		for _, version := range []string{old.Version, fresh.Version, old.Version} {
			require.NoError(t, r.Recordings.RemoveText(t.Context(), rec.ID, version))
		}
	}
	files, _ = r.filesOf(t, rec.ID, "text")
	require.Len(t, files, 2)
	var due int
	require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'recording_remove_text' AND state = 'scheduled'
		AND scheduled_at >= $1`, r.Clock.Now().Add(24*time.Hour)).Scan(&due))
	require.Equal(t, 3, due)

	_, err = r.Recordings.DeleteRecordingTextTrack(t.Context(), r.caller, rec.ID, "en")
	require.NoError(t, err)
	require.Equal(t, *rec.SizeBytes, *r.get(t, rec.ID).SizeBytes)
	require.NoError(t, r.Recordings.RemoveText(t.Context(), rec.ID, fresh.Version))
	files, _ = r.filesOf(t, rec.ID, "text")
	require.Empty(t, files)
}

// TestTextTracksGoWithTheirRecording: also those of an upload that came too late.
func TestTextTracksGoWithTheirRecording(t *testing.T) {
	t.Parallel()
	r := newRig(t, recorded(0))
	rec := r.filmed(t, recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6}})
	in := recording.TextInput{Language: "en", Name: "English", Kind: recording.Captions, Content: "WEBVTT"}
	_, err := r.Recordings.PutRecordingTextTrack(t.Context(), r.caller, rec.ID, in)
	require.NoError(t, err)
	_, err = r.Recordings.DeleteRecording(t.Context(), r.caller, rec.ID)
	require.NoError(t, err)
	require.NoError(t, r.Recordings.DeleteFiles(t.Context(), rec.ID))
	files, _ := r.filesOf(t, rec.ID, "")
	require.Empty(t, files)
	rows, err := db.New(r.Pool).ListTextTracks(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Empty(t, rows)

	late := filepath.Join(r.files, "recordings", rec.ID, "text", "text_late")
	require.NoError(t, os.MkdirAll(late, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(late, "1.vtt"), []byte("WEBVTT"), 0o600))
	require.NoError(t, r.Recordings.RemoveText(t.Context(), rec.ID, "text_late"))
	files, _ = r.filesOf(t, rec.ID, "")
	require.Empty(t, files)
}
