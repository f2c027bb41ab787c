package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/mp4file"
	"showfloor/internal/testkit/recordingtest"
	"showfloor/internal/testkit/s3test"
)

const (
	// hourStreams is how many streams are recorded for an hour.
	hourStreams = 4
	// lastMedia is the media of a fast recording that is published in real time, as on air: all but the last segment is in the storage
	// when it ends.
	lastMedia = 12 * time.Second
)

// BenchmarkRecordingHour records four streams of 2.5 Mbit/s for an hour of media each, published 20 times as fast as an encoder does, in
// the data folder and on an S3 server of this machine, and prints the time from their end to READY.
func BenchmarkRecordingHour(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		for name, settings := range map[string][]string{
			"folder": nil,
			"s3": {
				"STORAGE_URL=" + s3test.New(b).URL(b, "media"),
				"AWS_ACCESS_KEY_ID=" + s3test.ID, "AWS_SECRET_ACCESS_KEY=" + s3test.Secret,
			},
		} {
			s := startServer(b, bin, publicDir(b), settings...)
			keys, token := s.streams(b, hourStreams, true)
			ready := s.recordFast(b, keys, token, clip, time.Hour)
			b.ReportMetric(float64(ready[len(ready)*95/100].Milliseconds()), name+"-ready-p95-ms")
			s.stop(b)
		}
	}
}

// recordFast records streams with some time of media each, and returns the sorted times from their end to READY.
func (s *server) recordFast(b *testing.B, keys []string, token, clip string, media time.Duration) []time.Duration {
	b.Helper()
	plan := publisherPlan{Addr: s.rtmp, Keys: keys, Clip: clip, Fast: media - lastMedia}
	plan.Seconds = int(plan.due(media).Seconds())
	publish(b, plan).wait()
	ended := time.Now()
	ready := s.awaitRecordings(b, token, len(keys), ended)
	for _, x := range s.recordings(b, token) {
		require.InDelta(b, media.Seconds(), x.DurationSec, 10, "the recording has all that was published")
	}
	return ready
}

// mp4File waits for the MP4 file of a recording and returns its address.
func (s *server) mp4File(b *testing.B, token, recordingID string) string {
	b.Helper()
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		var urls struct{ Mp4URL *string }
		s.get(b, "/v1/me/recordings/"+recordingID+"/playback-url", token, &urls)
		if urls.Mp4URL != nil {
			return *urls.Mp4URL
		}
		require.Less(b, time.Since(began), 10*time.Minute)
	}
}

const (
	replayMedia   = 10 * time.Minute
	rangeReaders  = 16
	rangeBytes    = 1 << 20
	rangeTime     = 2 * time.Second
	replayViewers = 200
	replayTime    = 20 * time.Second
	// replaySegment is the duration of a segment: two groups of pictures of the clip.
	replaySegment = 4 * time.Second
)

// BenchmarkReplay serves one recording of ten minutes from the data folder: its MP4 file in ranges of 1 MiB to 16 connections, in turns
// with nginx and the same file, and then its segments to 200 players in real time.
func BenchmarkReplay(b *testing.B) {
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		b.Skip("nginx, the baseline, is missing: scripts/setup bench")
	}
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		dir := publicDir(b)
		s := startServer(b, bin, dir)
		keys, token := s.streams(b, 1, true)
		s.recordFast(b, keys, token, clip, replayMedia)
		recordingID := s.recordings(b, token)[0].ID
		ours := s.mp4File(b, token, recordingID)
		folder := filepath.Join(dir, "files", "recordings", recordingID)
		theirs := startNginx(b, nginx, folder) + "/video.mp4"
		rate, baseline := takeTurns(func() float64 { return readRanges(b, ours) }, func() float64 { return readRanges(b, theirs) })
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(rate, "MiB/s")
		b.ReportMetric(baseline, "nginx-MiB/s")
		b.ReportMetric(rate/baseline, "range-ratio")

		crowd := startHLSCrowd(b, hlsCrowdPlan{
			Root: strings.TrimSuffix(ours, "video.mp4"), Viewers: replayViewers, For: replayTime + 20*time.Second, Replay: true,
		})
		<-time.After(2 * replaySegment) // until all have begun
		before := crowd.parts(b)
		cpu := cpuOver(b, s, replayTime)
		loaded := float64(crowd.parts(b) - before)
		crowd.stop(b)
		b.ReportMetric(cpu, "core%")
		b.ReportMetric(loaded*replaySegment.Seconds()/replayTime.Seconds()/replayViewers, "played/real-time")
		s.stop(b)
	}
}

// BenchmarkMP4File makes the MP4 file of a recording of ten minutes, from its segments to the stored file, and compares it with cp of
// that file and a sync, in turns.
func BenchmarkMP4File(b *testing.B) {
	clip := filepath.Join(b.TempDir(), "long.mp4")
	loop := exec.Command("ffmpeg", "-loglevel", "error", "-stream_loop", "59", "-i", publishClip(b, 10), "-c", "copy", clip)
	out, err := loop.CombinedOutput()
	require.NoError(b, err, "%s", out)
	const folder = "recordings/rec_1/"
	dir := b.TempDir()
	media := recordingtest.Make(b, dir, "rec_1", recordingtest.Part{Clip: recordingtest.Clip{File: clip}})
	store, err := blob.Open(b.Context(), blob.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer store.Close()
	for b.Loop() {
		ours := func() float64 {
			began := time.Now()
			f, err := mp4file.Prepare(b.Context(), storedFiles{store, folder}, &media)
			require.NoError(b, err)
			r := f.Reader(b.Context())
			defer r.Close()
			_, err = store.Put(b.Context(), folder+"video.mp4", r, f.Size())
			require.NoError(b, err)
			return time.Since(began).Seconds()
		}
		copied := func() float64 {
			began := time.Now()
			path := filepath.Join(dir, folder, "video.mp4")
			require.NoError(b, exec.Command("cp", path, path+".copy").Run())
			require.NoError(b, exec.Command("sync", path+".copy").Run())
			took := time.Since(began).Seconds()
			require.NoError(b, os.Remove(path+".copy"))
			return took
		}
		_ = ours() // cp needs the file
		made, baseline := takeTurns(ours, copied)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(1000*made, "ms")
		b.ReportMetric(1000*baseline, "cp-ms")
		b.ReportMetric(made/baseline, "cp-ratio")
	}
}

// storedFiles are the files of a recording.
type storedFiles struct {
	store  blob.Store
	folder string
}

// Open implements mp4file.Files.
func (f storedFiles) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return f.store.Open(ctx, f.folder+name, 0, -1)
}

// startNginx serves a folder with one worker, and returns the server's URL.
func startNginx(b *testing.B, program, folder string) string {
	b.Helper()
	addr, dir := freePorts(b, 1)[0], b.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	require.NoError(b, os.WriteFile(config, []byte(fmt.Sprintf(`daemon off; user root; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http { sendfile on; tcp_nopush on; access_log off; keepalive_requests 1000000; client_body_temp_path %[1]s; proxy_temp_path %[1]s;
	fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s; types { video/mp4 mp4; }
	server { listen %[2]s; root %[3]s; } }`, dir, addr, folder)), 0o600))
	cmd := exec.Command(program, "-e", filepath.Join(dir, "error.log"), "-c", config)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its exit code doesn't matter
	})
	until(b, time.Now(), func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	return "http://" + addr
}

// readRanges reads random ranges of a file on several connections, and returns the MiB a second.
func readRanges(b *testing.B, address string) float64 {
	b.Helper()
	u, err := url.Parse(address)
	require.NoError(b, err)
	head, err := client().Head(address)
	require.NoError(b, err)
	require.NoError(b, head.Body.Close())
	require.Equal(b, http.StatusOK, head.StatusCode)
	var total atomic.Int64
	var readers sync.WaitGroup
	began := time.Now()
	for range rangeReaders {
		readers.Go(func() {
			if err := readRangesOn(u, head.ContentLength, began.Add(rangeTime), &total); err != nil {
				b.Error(err)
			}
		})
	}
	readers.Wait()
	return float64(total.Load()) / (1 << 20) / time.Since(began).Seconds()
}

// readRangesOn reads random ranges on one connection until a time.
func readRangesOn(u *url.URL, size int64, until time.Time, total *atomic.Int64) error {
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	for time.Now().Before(until) {
		from := rand.Int64N(size - rangeBytes)
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nRange: bytes=%d-%d\r\n\r\n", u.RequestURI(), u.Host, from,
			from+rangeBytes-1); err != nil {
			return err
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, answer.Body)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusPartialContent || n != rangeBytes {
			return fmt.Errorf("%s with %d bytes", answer.Status, n)
		}
		total.Add(n)
	}
	return nil
}

// watchReplay plays a recording from a random segment on, in real time: one file of each track for each segment.
func watchReplay(ctx context.Context, root string, segments *atomic.Int64) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	defer client.CloseIdleConnections()
	lists, err := openHLS(ctx, client, root)
	if err != nil {
		return err
	}
	var files [][]string // by track and segment
	for _, c := range lists {
		text, err := fetchHLS(ctx, client, c.address)
		if err != nil {
			return err
		}
		var track []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				track = append(track, line)
			}
		}
		files = append(files, track)
	}
	next := rand.IntN(len(files[0]))
	wait := time.NewTimer(rand.N(replaySegment))
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return nil
		}
		wait.Reset(replaySegment)
		for _, track := range files {
			if _, err := fetchHLS(ctx, client, root+track[next%len(track)]); err != nil {
				return err
			}
		}
		segments.Add(1)
		next++
	}
}
