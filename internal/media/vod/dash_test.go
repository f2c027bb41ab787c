package vod_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/recordingtest"
)

// TestDashJSReadsTheStoredTracks: the stored files are CMAF tracks, one for the picture and one for the sound, that a DASH player
// plays without changes. The recording has a restart and an encoder's changed size; each is a period of the manifest.
func TestDashJSReadsTheStoredTracks(t *testing.T) {
	t.Parallel()
	s := newTheatre(t, vod.Config{})
	m := s.record("rec_1",
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 10, BFrames: 2}, Bare: true},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 10, Size: "320x180"}, Bare: true},
		recordingtest.Part{Clip: recordingtest.Clip{Seconds: 9, From: 19}, NewTake: true, Bare: true})
	manifest := dashManifest(&m, strings.TrimSuffix(s.path("rec_1", "index.m3u8"), "index.m3u8"))
	s.pages.HandleFunc("/manifest.mpd", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/dash+xml")
		_, _ = w.Write([]byte(manifest))
	})
	v := s.viewer()
	v.Does(`openManifest("/manifest.mpd", 0)`)
	v.Waits(`video.readyState >= 2`)
	require.InDelta(t, m.Length().Seconds(), browsertest.Value[float64](t, v.Tab, `video.duration`), 0.05)
	require.Equal(t, []int{1, 1}, browsertest.Value[[]int](t, v.Tab, `["video", "audio"].map((type) => dash.getTracksFor(type).length)`))
	// Each seek has a player of its own: dash.js 5.2 stalls in one of some hundred seeks to another period.
	for _, at := range []int{25, 3, 12, 21, 18, 0} {
		v.Does(fmt.Sprintf(`openManifest("/manifest.mpd", %f)`, float64(at)+0.6))
		v.Shows(float64(at)+0.6, at)
	}
	v.PlaysToTheEnd(6)
	for _, track := range []recordfile.Track{recordfile.Video, recordfile.Audio} {
		_, loaded := s.requests.Load(recordfile.Segment(2, 2, track))
		require.True(t, loaded, "the last segment of track %c", track)
	}
}

// dashManifest is a DASH manifest of a recording's tracks, with a period for each initialization section (ISO/IEC 23009-1 §5.3.9.6).
func dashManifest(m *vod.Media, base string) string {
	const scale = 90_000
	ticks := func(seconds float64) int64 { return int64(seconds*scale + 0.5) }
	var b strings.Builder
	fmt.Fprintf(&b, `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" profiles="urn:mpeg:dash:profile:isoff-live:2011" `+
		`minBufferTime="PT4S" mediaPresentationDuration="PT%fS"><BaseURL>%s</BaseURL>`, m.Length().Seconds(), base)
	at := 0.0 // the time stamp of the next segment in its take
	for i, init := range m.Inits {
		if i > 0 && m.Inits[i-1].Take != init.Take {
			at = 0
		}
		first, length := 0, 0.0
		var timeline strings.Builder
		for _, g := range m.Segments {
			if g.Take != init.Take || g.Init != init.Number {
				continue
			}
			if first == 0 {
				first = g.Number
			}
			fmt.Fprintf(&timeline, `<S t="%d" d="%d"/>`, ticks(at+length), ticks(at+length+g.Duration.Seconds())-ticks(at+length))
			length += g.Duration.Seconds()
		}
		fmt.Fprintf(&b, `<Period id="%d" duration="PT%fS">`, i+1, length)
		video, audio, _ := strings.Cut(init.Codecs, ",")
		for _, track := range []struct {
			of          recordfile.Track
			kind, codec string
		}{{recordfile.Video, "video", video}, {recordfile.Audio, "audio", audio}} {
			media := strings.Replace(recordfile.Segment(init.Take, 0, track.of), "-0-", "-$Number$-", 1)
			fmt.Fprintf(&b, `<AdaptationSet contentType="%[1]s" mimeType="%[1]s/mp4" segmentAlignment="true" startWithSAP="1">`+
				`<SegmentTemplate timescale="%[2]d" presentationTimeOffset="%[3]d" startNumber="%[4]d" initialization="%[5]s" media="%[6]s">`+
				`<SegmentTimeline>%[7]s</SegmentTimeline></SegmentTemplate>`+
				`<Representation id="%[1]s" bandwidth="500000" codecs="%[8]s"/></AdaptationSet>`,
				track.kind, scale, ticks(at), first, recordfile.Init(init.Take, init.Number, track.of), media, timeline.String(), track.codec)
		}
		b.WriteString(`</Period>`)
		at += length
	}
	b.WriteString(`</MPD>`)
	return b.String()
}
