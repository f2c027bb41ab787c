package vod

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/recordfile"
)

var update = os.Getenv("SHOWFLOOR_UPDATE") != ""

// golden compares a text with a file of testdata; SHOWFLOOR_UPDATE=1 writes the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

var noon = time.Date(2026, 11, 22, 12, 0, 0, 123_456_789, time.UTC)

// segments makes n segments of a take with an init.
func segments(take, init, first, n int, d time.Duration) []Segment {
	list := make([]Segment, n)
	for i := range list {
		list[i] = Segment{
			Take: take, Init: init, Number: first + i, Duration: d, StartedAt: noon.Add(time.Duration(take)*time.Hour + time.Duration(first+i-1)*d),
			VideoBytes: 1_000_000, AudioBytes: 50_000,
		}
	}
	return list
}

// eventful is a recording with two takes, a changed size, and a part without pictures.
func eventful() Media {
	m := Media{Ready: true, Inits: []Init{
		{Take: 1, Number: 1, Codecs: "avc1.64001f,mp4a.40.2", Width: 1280, Height: 720, FrameRate: 30000. / 1001, VideoBytes: 700, AudioBytes: 600},
		{Take: 1, Number: 2, Codecs: "avc1.640028,mp4a.40.2", Width: 1920, Height: 1080, FrameRate: 25, VideoBytes: 700, AudioBytes: 600},
		{Take: 2, Number: 1, Codecs: "mp4a.40.2", AudioBytes: 600},
		{Take: 2, Number: 2, Codecs: "avc1.64001f,mp4a.40.2", Width: 1280, Height: 720, FrameRate: 30, VideoBytes: 700, AudioBytes: 600},
	}}
	m.Segments = append(m.Segments, segments(1, 1, 1, 2, 4004*time.Millisecond)...)
	m.Segments = append(m.Segments, segments(1, 2, 3, 1, 4123456*time.Microsecond)...)
	silent := segments(2, 1, 1, 2, 4*time.Second)
	silent[0].Discontinuity = true
	silent[0].VideoBytes, silent[1].VideoBytes = 0, 0
	m.Segments = append(m.Segments, silent...)
	m.Segments = append(m.Segments, segments(2, 2, 3, 1, 1500*time.Millisecond)...)
	return m
}

func TestPlaylistsOfAFinishedRecording(t *testing.T) {
	t.Parallel()
	m := eventful()
	golden(t, "ready-index.m3u8", multivariant(&m))
	golden(t, "ready-video.m3u8", playlist{of: recordfile.Video}.render(&m))
	golden(t, "ready-audio.m3u8", playlist{of: recordfile.Audio}.render(&m))
	golden(t, "cdn-audio.m3u8", withBase(playlist{of: recordfile.Audio}.render(&m), "https://cdn.example/vod/token/rec_1/"))
}

func TestSessionDataOfAFinishedRecording(t *testing.T) {
	t.Parallel()
	m := eventful()
	m.Storyboard = true
	m.Chapters = []Chapter{{1500 * time.Millisecond, "A \"red\" <cup>"}, {2 * time.Second, "Nothing"}, {2 * time.Second, "Plate"}, {time.Hour, "Late"}}
	golden(t, "chapters-index.m3u8", multivariant(&m))
	golden(t, "chapters.json", chapters(&m))
	m.Ready = false // its chapters may change
	require.NotContains(t, string(multivariant(&m)), "SESSION-DATA")
	require.Nil(t, chapters(&m))
	m.Ready, m.Chapters, m.Storyboard = true, nil, false
	require.NotContains(t, string(multivariant(&m)), "SESSION-DATA")
	require.Nil(t, chapters(&m))
}

func TestPlaylistsOfARunningRecording(t *testing.T) {
	t.Parallel()
	m := eventful()
	m.Ready = false
	golden(t, "dvr-index.m3u8", multivariant(&m))
	golden(t, "dvr-video.m3u8", playlist{of: recordfile.Video, dvr: true, window: time.Hour}.render(&m))
	golden(t, "dvr-audio.m3u8", playlist{of: recordfile.Audio, dvr: true, window: time.Hour}.render(&m))
	m.Ready = true // viewers who came before see the end
	golden(t, "dvr-ended-video.m3u8", playlist{of: recordfile.Video, dvr: true, window: time.Hour}.render(&m))
}

// TestSlidingPlaylist: beyond the window, segments leave the list one by one, and their numbers and
// discontinuities are counted.
func TestSlidingPlaylist(t *testing.T) {
	t.Parallel()
	m := eventful()
	m.Ready = false
	golden(t, "sliding-video.m3u8", playlist{of: recordfile.Video, dvr: true, window: 6 * time.Second}.render(&m))
	golden(t, "sliding-audio.m3u8", playlist{of: recordfile.Audio, dvr: true, window: 6 * time.Second}.render(&m))
	first, grown := 0, Media{}
	for _, s := range m.Segments {
		grown.Segments = append(grown.Segments, s)
		start := grown.windowStart(6 * time.Second)
		require.GreaterOrEqual(t, start, first)
		require.Less(t, start, len(grown.Segments))
		first = start
	}
	require.Equal(t, 3, first)
}

func TestARecordingWithoutPictures(t *testing.T) {
	t.Parallel()
	m := Media{Ready: true, Inits: []Init{{Take: 1, Number: 1, Codecs: "mp4a.40.2", AudioBytes: 600}}, Segments: segments(1, 1, 1, 2, 4*time.Second)}
	for i := range m.Segments {
		m.Segments[i].VideoBytes = 0
	}
	golden(t, "sound-index.m3u8", multivariant(&m))
	golden(t, "sound-audio.m3u8", playlist{of: recordfile.Audio}.render(&m))
}

// TestARecordingWithFewPictures is played as sound alone.
func TestARecordingWithFewPictures(t *testing.T) {
	t.Parallel()
	m := Media{Ready: true, Segments: segments(1, 1, 1, 3, 4*time.Second)}
	m.Segments[0].VideoBytes, m.Segments[1].VideoBytes = 0, 0
	require.NotContains(t, string(multivariant(&m)), "video.m3u8")
	require.NotContains(t, string(playlist{of: recordfile.Audio}.render(&m)), "GAP")
	m.Segments[1].VideoBytes = 1
	require.Contains(t, string(multivariant(&m)), "video.m3u8")
}

// TestLongSegments: a target duration is never below a segment's, rounded. It stays 10 for the longest segments of a recorder.
func TestLongSegments(t *testing.T) {
	t.Parallel()
	m := Media{Segments: segments(1, 1, 1, 1, 12100*time.Millisecond)}
	require.Contains(t, string(playlist{of: recordfile.Video, dvr: true, window: time.Hour}.render(&m)), "#EXT-X-TARGETDURATION:12\n")
	m = Media{Segments: segments(1, 1, 1, 1, 10400*time.Millisecond)}
	require.Contains(t, string(playlist{of: recordfile.Video, dvr: true, window: time.Hour}.render(&m)), "#EXT-X-TARGETDURATION:10\n")
	m = Media{Segments: segments(1, 1, 1, 1, 200*time.Millisecond)}
	require.Contains(t, string(playlist{of: recordfile.Video}.render(&m)), "#EXT-X-TARGETDURATION:1\n")
}

// TestBandwidth: a short last segment isn't the peak, two equal halves are.
func TestBandwidth(t *testing.T) {
	t.Parallel()
	m := Media{Segments: segments(1, 1, 1, 3, 4*time.Second)}
	m.Segments[2].Duration = 100 * time.Millisecond
	peak, average := bandwidth(&m)
	require.Equal(t, 4_097_560, peak) // the last two together
	require.Equal(t, 3_111_111, average)
	peak, average = bandwidth(&Media{})
	require.Zero(t, peak+average)
}
