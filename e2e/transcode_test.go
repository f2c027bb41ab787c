package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// transcode returns a job.
func (a *tenant) transcode(id string) api.Transcode {
	a.t.Helper()
	answer, err := a.GetTranscodeWithResponse(a.t.Context(), id)
	require.NoError(a.t, err)
	require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
	return *answer.JSON200
}

// transcoded waits until a job is over, and checks that its progress never decreases.
func (a *tenant) transcoded(id string) (job api.Transcode) {
	a.t.Helper()
	progress := 0
	until(a.t, "the transcode is over", func() bool {
		job = a.transcode(id)
		require.GreaterOrEqual(a.t, job.Progress, progress)
		progress = job.Progress
		return job.FinishedAt.IsSpecified() && !job.FinishedAt.IsNull()
	})
	return job
}

// packaged waits until a package is over.
func (a *tenant) packaged(id string) (job api.Package) {
	a.t.Helper()
	until(a.t, "the package is over", func() bool {
		answer, err := a.GetPackageWithResponse(a.t.Context(), id)
		require.NoError(a.t, err)
		require.NotNil(a.t, answer.JSON200, "%s", answer.Body)
		job = *answer.JSON200
		return !job.FinishedAt.IsNull()
	})
	return job
}

// shortRecording records a stream for some seconds.
func (a *tenant) shortRecording(seconds float64) api.Recording {
	a.t.Helper()
	stream := a.recordedStream(0)
	encoder := encodeSample(a.t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	until(a.t, "enough is recorded", func() bool {
		list := a.recordings(stream.ID)
		return len(list) > 0 && time.Since(list[0].StartedAt.Time).Seconds() > seconds
	})
	encoder.terminate(a.t)
	return a.ready(stream.ID)
}

// probed is what ffprobe says about a file.
type probed struct {
	Streams []struct {
		Kind   string `json:"codec_type"`
		Codec  string `json:"codec_name"`
		Width  int    `json:"width"`
		Height int    `json:"height"`
	} `json:"streams"`
	Format struct {
		Name     string `json:"format_name"`
		Duration string `json:"duration"`
	} `json:"format"`
}

func probeFile(t testing.TB, url string) (p probed) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", url).Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &p))
	return p
}

// encoders returns the processes of ffmpeg that work for a server's transcodes.
func (s *server) encoders(t testing.TB) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && len(line) > 0 && strings.Contains(string(line), "ffmpeg") && strings.Contains(string(line), filepath.Join(s.dir, "transcodes")) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// TestAloneTranscodes makes files of a recording and a package of them, kills the server meanwhile, and cancels a job. The files have what was requested, are
// counted once, and are deleted with the recording.
func TestAloneTranscodes(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	rec := a.shortRecording(8)
	create := func(body api.TranscodeInput) api.Transcode {
		return created(a.CreateTranscodeWithResponse(t.Context(), rec.ID, body))(t)
	}
	length, err := rec.DurationSec.Get()
	require.NoError(t, err)

	// Small pictures: encoders have a low priority, so other tests starve them.
	killed := create(api.TranscodeInput{Renditions: []api.RenditionInput{{Height: 180, VideoCodec: new(api.RenditionVideoCodecHEVC)}, {Height: 144}}})
	until(t, "an encoder works", func() bool { return len(s.encoders(t)) > 0 })
	s.kill()
	until(t, "the encoder has ended with the server", func() bool { return len(s.encoders(t)) == 0 })
	s.start(t)
	done := a.transcoded(killed.ID)
	require.Equal(t, api.MediaJobStatusCOMPLETED, done.Status, "%v", done.Error)
	require.Len(t, done.Outputs, 2)
	for i, want := range []struct {
		codec string
		lines int
	}{{"hevc", 180}, {"h264", 144}} {
		o, p := done.Outputs[i], probeFile(t, done.Outputs[i].URL)
		require.Equal(t, []any{want.lines, want.lines * 16 / 9}, []any{o.Height, o.Width})
		require.InDelta(t, length, o.DurationSec, 0.2)
		require.Positive(t, o.VideoKbps)
		require.Len(t, p.Streams, 2)
		require.Equal(t, []any{want.codec, o.Width, o.Height}, []any{p.Streams[0].Codec, p.Streams[0].Width, p.Streams[0].Height})
		seconds, err := strconv.ParseFloat(p.Format.Duration, 64)
		require.NoError(t, err)
		require.InDelta(t, length, seconds, 0.2)
		_, body := get(t.Context(), t, o.URL)
		require.Len(t, body, int(o.SizeBytes))
	}

	ts := a.transcoded(create(api.TranscodeInput{
		Container: new(api.TranscodeContainerMPEGTS), Renditions: []api.RenditionInput{{Height: 144, AudioKbps: new(0), Fps: new(float32(10))}},
	}).ID)
	require.Equal(t, api.MediaJobStatusCOMPLETED, ts.Status, "%v", ts.Error)
	p := probeFile(t, ts.Outputs[0].URL)
	require.Equal(t, "mpegts", p.Format.Name)
	require.Len(t, p.Streams, 1)

	packed := a.packaged(created(a.CreatePackageWithResponse(t.Context(), done.ID, api.PackageInput{}))(t).ID)
	require.Equal(t, api.MediaJobStatusCOMPLETED, packed.Status, "%v", packed.Error)
	require.Len(t, packed.Outputs, 2)
	for _, o := range packed.Outputs {
		p := probeFile(t, o.URL)
		require.GreaterOrEqual(t, len(p.Streams), 3, "two pictures and a sound")
		seconds, err := strconv.ParseFloat(p.Format.Duration, 64)
		require.NoError(t, err)
		require.InDelta(t, length, seconds, 0.2)
		require.Positive(t, o.SizeBytes)
	}

	slow := make([]api.RenditionInput, 4)
	for i := range slow {
		slow[i] = api.RenditionInput{Name: new(fmt.Sprint("copy", i)), Height: 720, VideoCodec: new(api.RenditionVideoCodecHEVC)}
	}
	canceled := create(api.TranscodeInput{Renditions: slow})
	until(t, "an encoder works", func() bool { return len(s.encoders(t)) > 0 })
	created(a.CancelTranscodeWithResponse(t.Context(), canceled.ID))(t)
	until(t, "the encoder was killed", func() bool { return len(s.encoders(t)) == 0 })
	require.Equal(t, api.MediaJobStatusCANCELED, a.transcode(canceled.ID).Status)

	pool, err := pgxpool.New(t.Context(), s.settings["DATABASE_URL"])
	require.NoError(t, err)
	defer pool.Close()
	counted := read[struct {
		ID     string
		Amount int64
	}](t, pool, "SELECT resource_id AS id, amount FROM usage_intervals WHERE meter = 'TRANSCODE_MINUTES'")
	require.Len(t, counted, len(done.Outputs)+len(ts.Outputs), "each file once")
	for _, c := range counted {
		require.Contains(t, []string{done.ID, ts.ID}, c.ID)
		require.InDelta(t, length, c.Amount, 1.2)
	}
	deleted, err := a.DeleteRecordingWithResponse(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, deleted.StatusCode(), "%s", deleted.Body)
	require.Empty(t, a.transcode(done.ID).Outputs)
	until(t, "the files are deleted", func() bool { // by a job
		status, _ := get(context.WithoutCancel(t.Context()), t, done.Outputs[0].URL)
		return status == http.StatusNotFound
	})
	emptied, err := a.GetPackageWithResponse(t.Context(), packed.ID)
	require.NoError(t, err)
	require.Empty(t, emptied.JSON200.Outputs)
	until(t, "the package's files are deleted", func() bool {
		status, _ := get(context.WithoutCancel(t.Context()), t, packed.Outputs[0].URL)
		return status == http.StatusNotFound
	})
}
