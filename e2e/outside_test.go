package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/secret"
)

const outsideSecret = "a secret of the test"

// outsideWorkers is a transcoder and packager which works with ffmpeg, as a program of an operator does.
type outsideWorkers struct {
	t *testing.T
	*httptest.Server
}

func newOutsideWorkers(t *testing.T) *outsideWorkers {
	t.Helper()
	w := &outsideWorkers{t: t}
	work := make(chan func(), 8)
	t.Cleanup(func() { close(work) })
	go func() {
		for do := range work {
			do()
		}
	}()
	w.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var n struct {
			Event, PlaylistURL, UploadURL, ReportURL string
			Renditions                               []struct {
				Name, UploadURL string
				Height          int
			}
			Sources []struct{ URL string }
		}
		assert.NoError(t, json.Unmarshal(body, &n))
		if n.Event == "transcode.start" {
			assert.Equal(t, secret.Sign([]byte(outsideSecret), body), r.Header.Get("X-Transcoder-Signature"))
			work <- func() {
				one := n.Renditions[0]
				w.transcode(n.PlaylistURL, one.Height, one.Name, one.UploadURL, n.ReportURL)
			}
			return
		}
		assert.Equal(t, "package.start", n.Event)
		assert.Equal(t, secret.Sign([]byte(outsideSecret), body), r.Header.Get("X-Packager-Signature"))
		work <- func() { w.pack(n.Sources[0].URL, n.UploadURL, n.ReportURL) }
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *outsideWorkers) ffmpeg(args ...string) {
	out, err := exec.CommandContext(w.t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin", "-y"}, args...)...).CombinedOutput()
	assert.NoError(w.t, err, "%s", out)
}

// upload uploads a file and returns its size.
func (w *outsideWorkers) upload(path, url string) int {
	content, err := os.ReadFile(path)
	assert.NoError(w.t, err)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, url, bytes.NewReader(content))
	assert.NoError(w.t, err)
	answer, err := (&http.Client{Timeout: patience}).Do(r)
	if assert.NoError(w.t, err) {
		assert.Equal(w.t, http.StatusCreated, answer.StatusCode)
		_ = answer.Body.Close()
	}
	return len(content)
}

func (w *outsideWorkers) report(url, header string, body map[string]any) {
	content, err := json.Marshal(body)
	assert.NoError(w.t, err)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, url, bytes.NewReader(content))
	assert.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(header, secret.Sign([]byte(outsideSecret), content))
	answer, err := (&http.Client{Timeout: patience}).Do(r)
	if assert.NoError(w.t, err) {
		text, _ := io.ReadAll(answer.Body) // for the message
		assert.Equal(w.t, http.StatusCreated, answer.StatusCode, "%s", text)
		_ = answer.Body.Close()
	}
}

func (w *outsideWorkers) transcode(playlist string, height int, name, upload, report string) {
	w.report(report, "X-Transcoder-Signature", map[string]any{"status": "running"})
	path := filepath.Join(w.t.TempDir(), "out.mp4")
	w.ffmpeg("-i", playlist, "-map", "0:v:0", "-map", "0:a:0", "-vf", "scale=-2:"+strconv.Itoa(height), "-c:v", "libx264", "-preset", "ultrafast", "-g", "60",
		"-c:a", "aac", "-movflags", "+faststart", path)
	size := w.upload(path, upload)
	w.report(report, "X-Transcoder-Signature", map[string]any{"status": "completed", "outputs": []any{map[string]any{
		"name": name, "url": upload, "width": height * 16 / 9, "height": height, "durationSec": 4, "sizeBytes": size,
	}}})
}

func (w *outsideWorkers) pack(source, upload, report string) {
	dir := w.t.TempDir()
	w.ffmpeg("-i", source, "-c", "copy", "-f", "hls", "-hls_segment_type", "fmp4", "-hls_playlist_type", "vod", "-hls_time", "2",
		"-hls_segment_filename", filepath.Join(dir, "part-%d.m4s"), "-hls_fmp4_init_filename", "init.mp4", filepath.Join(dir, "main.m3u8"))
	size := 0
	files, err := os.ReadDir(dir)
	assert.NoError(w.t, err)
	for _, f := range files {
		size += w.upload(filepath.Join(dir, f.Name()), upload+f.Name())
	}
	w.report(report, "X-Packager-Signature", map[string]any{"status": "completed", "outputs": []any{
		map[string]any{"format": "HLS", "url": upload + "main.m3u8", "sizeBytes": size},
	}})
}

// TestAloneOutsideWorkers: programs of the operator make a transcode and a package. They read and write the files by signed URLs.
func TestAloneOutsideWorkers(t *testing.T) {
	t.Parallel()
	w := newOutsideWorkers(t)
	s := serve(t, onTestDatabase, set("TRANSCODER_URL", w.URL), set("TRANSCODER_SECRET", outsideSecret), set("PACKAGER_URL", w.URL),
		set("PACKAGER_SECRET", outsideSecret), set("TRANSCODE_WORKERS", "0"))
	a := signUp(t, s)
	rec := a.shortRecording(5)
	made := created(a.CreateTranscodeWithResponse(t.Context(), rec.ID, api.TranscodeInput{Renditions: []api.RenditionInput{{Height: 144}}}))(t)
	done := a.transcoded(made.ID)
	require.Equal(t, api.MediaJobStatusCOMPLETED, done.Status, "%v", done.Error)
	require.Equal(t, 144, probeFile(t, done.Outputs[0].URL).Streams[0].Height)
	packed := a.packaged(created(a.CreatePackageWithResponse(t.Context(), done.ID, api.PackageInput{Formats: []api.PackageFormat{api.PackageFormatHLS}}))(t).ID)
	require.Equal(t, api.MediaJobStatusCOMPLETED, packed.Status, "%v", packed.Error)
	p := probeFile(t, packed.Outputs[0].URL)
	require.Len(t, p.Streams, 2)
	seconds, err := strconv.ParseFloat(p.Format.Duration, 64)
	require.NoError(t, err)
	length, err := rec.DurationSec.Get()
	require.NoError(t, err)
	require.InDelta(t, length, seconds, 0.3, fmt.Sprint(packed.Outputs))
}
