package bench

import (
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
)

// allTimes is the CPU time of this process and its ended children.
func allTimes(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u))
	return cpuTime(b) + time.Duration(u.Utime.Nano()+u.Stime.Nano())
}

// BenchmarkBroadcast composes a room of four people for 20 s: a camera of 720p in VP8 with 1.7 Mbit/s, and four voices. It measures
// the CPU time of the server's part and of its processes, which decode, mix and encode. The baseline is ffmpeg alone, which decodes the
// same camera and encodes it in the same way with one voice.
func BenchmarkBroadcast(b *testing.B) {
	const seconds, people = 20, 4
	clip, sound := makeClip(b, seconds), makeVoice(b, seconds)
	pictures, frames := picturesOf(b, clip), framesOf(b, sound)
	for b.Loop() {
		before := allTimes(b)
		l, err := compose.New(slog.New(slog.DiscardHandler)).Live(compose.LiveConfig{Read: func(flv io.Reader) error {
			_, err := io.Copy(io.Discard, flv)
			return err
		}})
		require.NoError(b, err)
		camera, err := l.Show("video/VP8", 90_000, func() {})
		require.NoError(b, err)
		var voices [people]*compose.LiveVoice
		for i := range voices {
			voices[i] = l.Voice()
		}
		var work sync.WaitGroup
		work.Go(func() { sendCamera(pictures, camera) })
		work.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n, frame := range frames {
				for _, v := range voices {
					v.Packet(uint32(n*960), frame)
				}
				<-tick.C
			}
		})
		work.Wait()
		l.Close()
		used := allTimes(b) - before

		before = allTimes(b)
		out, err := exec.Command("ffmpeg", "-loglevel", "error", "-nostdin", "-re", "-threads", "1", "-i", clip, "-i", sound,
			"-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-profile:v", "main", "-bf", "0", "-g", "60", "-sc_threshold", "0",
			"-b:v", "2500k", "-maxrate", "2500k", "-bufsize", "2500k", "-threads", "2", "-c:a", "aac", "-b:a", "128k",
			"-t", strconv.Itoa(seconds), "-f", "flv", "-y", "/dev/null").CombinedOutput()
		require.NoError(b, err, "%s", out)
		bare := allTimes(b) - before
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(100*used.Seconds()/seconds, "core%")
		b.ReportMetric(used.Seconds()/bare.Seconds(), "ratio")
	}
}

// sendCamera sends pictures in real time.
func sendCamera(pictures [][]byte, to *compose.Shown) {
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	payloader, sequence := &codecs.VP8Payloader{}, uint16(0)
	for n, picture := range pictures {
		payloads := payloader.Payload(1100, picture)
		for i, payload := range payloads {
			to.Packet(sequence, uint32(n*3000), i == len(payloads)-1, payload)
			sequence++
		}
		<-tick.C
	}
}
