package packager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/packager"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/recordingtest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

// run runs a program, which must not complain, and returns its output.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s %v\n%s", name, args, stderr.String())
	require.Empty(t, stderr.String(), "%s %v", name, args)
	return stdout.String()
}

// recordingFiles has a recording's files.
type recordingFiles string

func (f recordingFiles) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(string(f), name))
}

// transcoded makes files of a recording whose picture shows the second, and returns their paths.
func transcoded(t testing.TB, seconds int, renditions ...transcoder.Rendition) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	m := recordingtest.Make(t, dir, "rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: seconds, BFrames: 2, Size: "320x180"}, Bare: true})
	f, err := mp4file.Prepare(t.Context(), recordingFiles(filepath.Join(dir, "recordings", "rec_1")), &m)
	require.NoError(t, err)
	r := f.Reader(t.Context())
	defer r.Close()
	made, err := transcoder.New().Run(t.Context(), transcoder.Job{
		Source: r, Length: f.Duration(), HasVideo: true, HasAudio: true, Folder: t.TempDir(), Renditions: renditions,
	})
	require.NoError(t, err)
	for _, one := range made {
		paths = append(paths, one.Path)
	}
	return paths
}

// source is a file of a job.
func source(t testing.TB, path string, audioKbps int) packager.Source {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	name := filepath.Base(path)
	return packager.Source{
		Name: name[:len(name)-len(filepath.Ext(name))], Size: info.Size(), AudioKbps: audioKbps,
		Open: func(_ context.Context, offset, length int64) (io.ReadCloser, error) {
			f, err := os.Open(path)
			if err != nil || length < 0 {
				return f, err
			}
			return struct {
				io.Reader
				io.Closer
			}{io.NewSectionReader(f, offset, length), f}, nil
		},
	}
}

// folder stores a package.
type folder string

func (f folder) put(_ context.Context, name string, r io.Reader, size int64) error {
	file, err := os.Create(filepath.Join(string(f), name))
	if err != nil {
		return err
	}
	defer file.Close()
	n, err := io.Copy(file, r)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// packaged makes a package of both formats with segments of 4 s.
func packaged(t testing.TB, j packager.Job) (dir string, made packager.Package) {
	t.Helper()
	dir = t.TempDir()
	j.HLS, j.DASH, j.Put = true, true, folder(dir).put
	if j.Segment == 0 {
		j.Segment = 4 * time.Second
	}
	made, err := packager.Run(t.Context(), j)
	require.NoError(t, err)
	return dir, made
}

// serve serves a package.
func serve(t testing.TB, dir string) (pages *http.ServeMux, url string) {
	t.Helper()
	pages = http.NewServeMux()
	pages.Handle("/package/", http.StripPrefix("/package/", http.FileServer(http.Dir(dir))))
	s := httptest.NewServer(pages)
	t.Cleanup(s.Close)
	return pages, s.URL
}

// times are the presentation times of a track's packets in seconds.
func times(t testing.TB, url, track string) (list []float64) {
	t.Helper()
	var v struct {
		Packets []struct {
			Time string `json:"pts_time"`
		}
	}
	out := run(t, "ffprobe", "-v", "error", "-select_streams", track, "-show_entries", "packet=pts_time", "-of", "json", url)
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	for _, p := range v.Packets {
		at, err := strconv.ParseFloat(p.Time, 64)
		require.NoError(t, err)
		list = append(list, at)
	}
	return list
}

// putFailing stores a package, but fails with one file after its first bytes.
func putFailing(f folder, failing string, fault error) func(context.Context, string, io.Reader, int64) error {
	return func(ctx context.Context, name string, r io.Reader, size int64) error {
		if name != failing {
			return f.put(ctx, name, r, size)
		}
		_, _ = io.CopyN(io.Discard, r, min(size, 1000)) // the fault counts
		return fault
	}
}
