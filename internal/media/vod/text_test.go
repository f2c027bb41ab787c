package vod_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/media/vod"
	"showfloor/internal/media/webvtt"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/recordingtest"
)

// texted adds a text track to a stored recording, as an upload does.
func (s *theatre) texted(id string, m vod.Media, text vod.Text, content string) vod.Media {
	s.t.Helper()
	store, err := blob.Open(s.t.Context(), blob.Config{Dir: s.dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(s.t, err)
	defer store.Close()
	file, err := webvtt.Parse(content)
	require.NoError(s.t, err)
	size, err := recordgate.Texts{Files: store}.StoreText(s.t.Context(), stored(id, m), text.Version, file)
	require.NoError(s.t, err)
	require.Positive(s.t, size)
	m.Texts = append(m.Texts, text)
	s.archive.set(id, m)
	return m
}

// stored is a recording as the area for recordings has it.
func stored(id string, m vod.Media) recording.Media {
	out := recording.Media{RecordingID: id, Status: recording.Ready}
	for _, i := range m.Inits {
		out.Inits = append(out.Inits, recording.TakeInit{Take: i.Take, Init: recording.Init{
			Number: i.Number, Codecs: i.Codecs, Width: i.Width, Height: i.Height, FrameRate: i.FrameRate,
			VideoBytes: i.VideoBytes, AudioBytes: i.AudioBytes,
		}})
	}
	for _, g := range m.Segments {
		out.Segments = append(out.Segments, recording.TakeSegment{Take: g.Take, Segment: recording.Segment{
			Number: g.Number, Init: g.Init, Discontinuity: g.Discontinuity, StartedAt: g.StartedAt, Duration: g.Duration,
			VideoBytes: g.VideoBytes, AudioBytes: g.AudioBytes,
		}})
	}
	return out
}

// seconds is a WebVTT file with a cue for each second, which counts them.
func seconds(n int) string {
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for i := range n {
		fmt.Fprintf(&b, "\n00:%02d.000 --> 00:%02d.000\nsecond %d\n", i, i+1, i)
	}
	return b.String()
}

func english(version string) vod.Text {
	return vod.Text{Language: "en", Name: `The "English" text`, Captions: true, Version: version}
}

// TestHLSShowsTexts: cues are shown at their second, also behind changed settings and a restart, whose timestamps
// continue or restart.
func TestHLSShowsTexts(t *testing.T) {
	t.Parallel()
	blind := []recordingtest.Part{
		{Clip: recordingtest.Clip{Seconds: 14, Blind: true}},
		{Clip: recordingtest.Clip{Seconds: 14, From: 14, Blind: true}, NewTake: true},
	}
	for name, parts := range map[string][]recordingtest.Part{
		"timestamps continue": eventfulParts(true), "timestamps restart": eventfulParts(false), "sound alone": blind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTheatre(t, vod.Config{})
			s.texted("rec_1", s.record("rec_1", parts...), english("text_1"), seconds(40))
			v := s.viewer()
			v.Does(fmt.Sprintf(`openPlaylist(%q)`, s.path("rec_1", "index.m3u8")))
			v.Waits(`video.readyState >= 2 && hls.subtitleTracks.length === 1`)
			v.Does(`hls.subtitleDisplay = true; hls.subtitleTrack = 0`)
			require.Equal(t, "The 'English' text", browsertest.Value[string](t, v.Tab, `hls.subtitleTracks[0].name`))
			for _, at := range []int{25, 3, 12, 21, 9, 10, 18, 0} {
				v.Does(fmt.Sprintf(`video.currentTime = %d.5`, at))
				shown := `Array.from(video.textTracks).flatMap(t => Array.from(t.activeCues ?? [])).map(c => c.text).join("|")`
				v.Waits(fmt.Sprintf(`!video.seeking && %s === "second %d"`, shown, at))
			}
		})
	}
}

// TestPlaylistsHaveTexts: of a READY recording only, with the address of a CDN, and each version at a path of its own.
func TestPlaylistsHaveTexts(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // how far the clock is ahead
	s := newTheatre(t, vod.Config{MediaURL: "https://cdn.example", Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	m := s.record("rec_1", eventfulParts(false)...)
	require.NotContains(t, s.get(s.path("rec_1", "index.m3u8")), "SUBTITLES")
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, s.path("rec_1", "text-en.m3u8")).status)
	m = s.texted("rec_1", m, english("text_1"), seconds(40))
	ahead.Add(int64(11 * time.Second))
	index := s.get(s.path("rec_1", "index.m3u8"))
	require.Contains(t, index, `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="The 'English' text",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,`+
		`CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound",URI="text-en.m3u8"`)
	require.Contains(t, index, `,SUBTITLES="text"`)
	path := s.path("rec_1", "")
	list := s.do(http.MethodGet, path+"text-en.m3u8")
	require.Equal(t, "public, max-age=60", list.header.Get("Cache-Control"))
	require.Equal(t, 2, strings.Count(list.body, "#EXT-X-DISCONTINUITY\n"), list.body)
	require.Contains(t, list.body, "https://cdn.example"+path+"text/text_1/3.vtt\n#EXT-X-ENDLIST\n")
	file := s.do(http.MethodGet, path+"text/text_1/3.vtt")
	require.Equal(t, "public, max-age=86400, immutable", file.header.Get("Cache-Control"))
	require.True(t, strings.HasPrefix(file.body, "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:19.200\n\n00:00:19.200 --> 00:00:20.000\nsecond 19\n"), file.body)
	require.NotContains(t, file.body, "second 30")
	for _, wrong := range []string{"text-.m3u8", "text-e_n.m3u8", "text-de.m3u8", "text/text_1/0.vtt", "text/text_1/4.vtt", "text/../1.vtt", "text/1.vtt"} {
		require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, path+wrong).status, wrong)
	}

	m.Texts[0].Version = "text_2"
	s.archive.set("rec_1", m)
	ahead.Add(int64(11 * time.Second))
	require.Contains(t, s.get(path+"text-en.m3u8"), "text/text_2/1.vtt")
}

// TestFFmpegPlaysBesideTexts: ffmpeg 5.1 leaves out subtitles of HLS, and plays the rest. It decodes the files of the texts.
func TestFFmpegPlaysBesideTexts(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10}})
	s.texted("rec_1", m, english("text_1"), seconds(9))
	url := s.http.URL + s.path("rec_1", "")
	require.Equal(t, 10*10, frames(t, "v", url+"index.m3u8"))
	out, complaints := run(t, "ffmpeg", "-v", "warning", "-nostdin", "-i", url+"text/text_1/1.vtt", "-f", "webvtt", "-")
	require.Empty(t, complaints)
	require.Equal(t, 9, strings.Count(out, "second "), out)
	out, _ = run(t, "ffprobe", "-v", "error", "-show_entries", "stream=codec_name:stream_tags=language", "-of", "compact=p=0", url+"text-en.m3u8")
	require.Contains(t, out, "codec_name=webvtt")
}
