package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// writeClip makes a file as an SRS server records it. Its format follows from the name.
func writeClip(t testing.TB, path string, seconds int, more ...string) {
	t.Helper()
	source, err := sampleClip()
	require.NoError(t, err)
	args := append([]string{"-v", "error", "-nostdin", "-i", source, "-t", strconv.Itoa(seconds), "-c", "copy"}, more...)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append(args, path)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestFilesOfAnSRSServer: each file that is reported becomes a recording of its stream, once. Files outside the folder, and
// links that lead there, are refused.
func TestFilesOfAnSRSServer(t *testing.T) {
	t.Parallel()
	shared, outside := t.TempDir(), t.TempDir()
	s := serve(t, onTestDatabase, func(_ testing.TB, s *server) { s.settings["SRS_DVR_DIR"] = "/usr/local/srs/objs/dvr=" + shared })
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	require.NoError(t, os.Mkdir(filepath.Join(shared, "live"), 0o755))
	writeClip(t, filepath.Join(shared, "live/a.flv"), 9)
	writeClip(t, filepath.Join(shared, "live/b.mp4"), 5, "-movflags", "use_metadata_tags") // its index is at the end
	writeClip(t, filepath.Join(outside, "secret.flv"), 2)
	require.NoError(t, os.WriteFile(filepath.Join(shared, "text.flv"), []byte("not a recording"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(shared, "torn.mp4"), []byte("\x00\x00\x00\x18ftypisom"), 0o644))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.flv"), filepath.Join(shared, "link.flv")))
	require.NoError(t, os.Symlink(outside, filepath.Join(shared, "folder")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(shared, "pipe.flv"), 0o644))

	begun := time.Now()
	callback := api.IngestCallback{ClientID: "encoder", Stream: stream.StreamKey}
	created(a.IngestPublishWithResponse(t.Context(), callback))(t)
	created(a.IngestUnpublishWithResponse(t.Context(), callback))(t)
	report := func(file string) string {
		t.Helper()
		cwd := "/usr/local/srs"
		for range 2 {
			created(a.IngestDvrWithResponse(t.Context(), api.DvrCallback{ClientID: "encoder", Stream: stream.StreamKey, Cwd: &cwd, File: file}))(t)
		}
		return a.recordings(stream.ID)[0].ID
	}
	flv, mp4 := report("./objs/dvr/live/a.flv"), report("/usr/local/srs/objs/dvr/live/b.mp4")
	refused := map[string]string{
		report("objs/dvr/text.flv"):          "neither FLV nor MP4",
		report("objs/dvr/torn.mp4"):          "can't be read",
		report("objs/dvr/link.flv"):          "leads out",
		report("objs/dvr/folder/secret.flv"): "leads out",
		report("objs/dvr/pipe.flv"):          "not a file",
		report("objs/dvr/live"):              "not a file",
		report("objs/dvr/../secret.flv"):     "not in the folder",
		report("/etc/passwd"):                "not in the folder",
	}
	require.Len(t, a.recordings(stream.ID), 2+len(refused), "a repeated report makes no other recording")
	until(t, "all files are imported", func() bool {
		for _, r := range a.recordings(stream.ID) {
			if r.Status == api.RecordingStatusPROCESSING {
				return false
			}
		}
		return true
	})
	lengths := map[string]float64{flv: 9, mp4: 5}
	for _, r := range a.recordings(stream.ID) {
		if want, failed := refused[r.ID]; failed {
			require.Equal(t, api.RecordingStatusFAILED, r.Status, want)
			require.Contains(t, r.Error.MustGet(), want)
			continue
		}
		require.Equal(t, api.RecordingStatusREADY, r.Status, "%v", r.Error)
		require.True(t, r.IncompleteReason.IsNull())
		require.InDelta(t, lengths[r.ID], r.DurationSec.MustGet(), 0.1)
		require.WithinDuration(t, begun.Add(-time.Duration(lengths[r.ID])*time.Second), r.StartedAt.Time, time.Minute)
		playWhole(t, r)
	}
	left, err := os.ReadDir(filepath.Join(s.dir, "import"))
	require.NoError(t, err)
	require.Empty(t, left)
}
