package vod_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/mp4file"
	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/playertest"
	"showfloor/internal/testkit/recordingtest"
)

// viewer opens a tab with a player.
func (s *theatre) viewer() *playertest.Viewer {
	s.t.Helper()
	return playertest.Open(s.t, s.pages, s.http.URL)
}

// eventfulParts is a recording with B-frames, a changed size, and a restart whose timestamps continue
// or restart.
func eventfulParts(continued bool) []recordingtest.Part {
	return []recordingtest.Part{
		{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}, Bare: true},
		{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}, Bare: true},
		{Clip: recordingtest.Clip{Seconds: 9, From: 19}, NewTake: true, Continued: continued, Bare: true},
	}
}

func TestHLSPlaysAndSeeks(t *testing.T) {
	t.Parallel()
	for name, continued := range map[string]bool{"timestamps continue": true, "timestamps restart": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTheatre(t, vod.Config{})
			m := s.record("rec_1", eventfulParts(continued)...)
			v := s.viewer()
			v.Does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
			v.Waits(`video.readyState >= 2`)
			require.InDelta(t, m.Length().Seconds(), browsertest.Value[float64](t, v.Tab, `video.duration`), 0.05)
			for _, at := range []int{25, 3, 12, 21, 18, 0} {
				v.Seeks(float64(at)+0.6, at)
			}
			v.PlaysToTheEnd(6)
		})
	}
}

// TestHLSPlaysOverGaps: parts without pictures don't end playback, and the pictures after them are
// at their time. hls.js also leaves out the sound of such a part.
func TestHLSPlaysOverGaps(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 4, From: 8, Blind: true}},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 8, From: 12}})
	v := s.viewer()
	v.Does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
	v.Waits(`video.readyState >= 2`)
	v.Does(`video.currentTime = 6; video.play()`)
	v.Waits(`video.currentTime > 13 && !video.seeking && video.readyState >= 2`)
	v.Does(`video.pause()`)
	at := browsertest.Value[float64](t, v.Tab, `video.currentTime`)
	require.InDelta(t, at, browsertest.Value[float64](t, v.Tab, recordingtest.Clock("video")), 1.1)
	v.PlaysToTheEnd(at)
}

// TestHLSFollowsARunningRecording: it is played from its start, grows, and ends.
func TestHLSFollowsARunningRecording(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	whole := s.record("rec_1", eventfulParts(false)...)
	running := whole
	running.Ready, running.Segments = false, whole.Segments[:3]
	s.archive.set("rec_1", running)
	v := s.viewer()
	v.Does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
	v.Waits(`video.readyState >= 2`)
	v.Seeks(1.5, 1)
	s.archive.set("rec_1", whole)
	v.Waits(fmt.Sprintf(`hls.latestLevelDetails?.live === false && video.duration > %f`, whole.Length().Seconds()-0.5))
	v.Seeks(25.6, 25)
}

// TestTheMP4PlaysInABrowser: over a changed size and a restart, with ranges.
func TestTheMP4PlaysInABrowser(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1", eventfulParts(false)...)
	dir := filepath.Join(s.dir, "recordings", "rec_1")
	f, err := mp4file.Prepare(t.Context(), dirFiles(dir), &m)
	require.NoError(t, err)
	out, err := os.Create(filepath.Join(dir, "video.mp4"))
	require.NoError(t, err)
	require.NoError(t, f.WriteTo(t.Context(), out))
	require.NoError(t, out.Close())
	v := s.viewer()
	v.Does(fmt.Sprintf(`video.src = %q`, s.path("rec_1", "video.mp4")))
	v.Waits(`video.readyState >= 2`)
	require.InDelta(t, m.Length().Seconds(), browsertest.Value[float64](t, v.Tab, `video.duration`), 0.001)
	for _, at := range []int{25, 3, 12, 21, 18, 0} {
		v.Seeks(float64(at)+0.6, at)
	}
	v.PlaysToTheEnd(6)
}
