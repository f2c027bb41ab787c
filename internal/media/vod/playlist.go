package vod

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"showfloor/internal/media/recordfile"
)

// dvrTarget is the target duration of a running recording's playlists in seconds. It may not
// change while segments follow, and encoders have key-frame intervals of up to 10 s.
const dvrTarget = 10

// playlist says how a media playlist is rendered.
type playlist struct {
	of recordfile.Track
	// dvr is for viewers who came while the recording ran. A playlist may not change its target
	// duration or its type, so theirs stays as it was when the recording has ended.
	dvr    bool
	window time.Duration // of dvr
}

const mapTag = `#EXT-X-MAP:URI="`

// withBase returns a media playlist with base before the names of files.
func withBase(list []byte, base string) []byte {
	b := make([]byte, 0, len(list)+bytes.Count(list, []byte("\n"))*len(base))
	for line := range bytes.Lines(list) {
		name, isMap := bytes.CutPrefix(line, []byte(mapTag))
		switch {
		case isMap:
			b = append(append(b, mapTag...), base...)
		case line[0] != '#':
			b = append(b, base...)
		}
		b = append(b, name...)
	}
	return b
}

// render renders a media playlist.
//
// Both renditions list each segment with the same duration, so that a discontinuity is at the same
// time in both. The tracks of a segment differ from it by less than a frame of audio; players
// place them by their timestamps.
//
// A segment without picture is a gap (EXT-X-GAP) in both renditions of a recording with pictures.
// hls.js skips such a part. If only the picture's rendition had the gap, hls.js 1.7 would stop
// there forever, because Chromium plays nothing where one of the two buffers is empty. So the sound
// of the part is only in the MP4 file; the recorder should repeat a still picture instead.
func (p playlist) render(m *Media) []byte {
	first := 0
	if p.dvr {
		first = m.windowStart(p.window)
	}
	b := p.header(m, first)
	mapped, pictures := -1, m.video()
	for i := first; i < len(m.Segments); i++ {
		s := &m.Segments[i]
		gap := s.VideoBytes == 0 && (p.of == recordfile.Video || pictures)
		broken := m.Breaks(i)
		if broken {
			b = append(b, "#EXT-X-DISCONTINUITY\n"...)
		}
		if !gap && (mapped < 0 || m.Segments[mapped].Take != s.Take || m.Segments[mapped].Init != s.Init) {
			mapped = i
			b = append(b, mapTag...)
			b = recordfile.AppendInit(b, s.Take, s.Init, p.of)
			b = append(b, "\"\n"...)
		}
		if p.dvr || broken || i == first {
			b = append(b, "#EXT-X-PROGRAM-DATE-TIME:"...)
			b = s.StartedAt.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
			b = append(b, '\n')
		}
		if gap {
			b = append(b, "#EXT-X-GAP\n"...)
		}
		b = append(b, "#EXTINF:"...)
		b = strconv.AppendFloat(b, s.Duration.Seconds(), 'f', 6, 64)
		b = append(b, ",\n"...)
		b = recordfile.AppendSegment(b, s.Take, s.Number, p.of)
		b = append(b, '\n')
	}
	if m.Ready {
		b = append(b, "#EXT-X-ENDLIST\n"...)
	}
	return b
}

// header renders the tags before the segments, of which the first removed ones are not listed.
func (p playlist) header(m *Media, removed int) []byte {
	b := make([]byte, 0, 256+len(m.Segments)*48)
	target := longest(m)
	if p.dvr {
		target = max(target, dvrTarget)
	}
	b = append(b, "#EXTM3U\n#EXT-X-VERSION:8\n"...) // EXT-X-GAP
	b = fmt.Appendf(b, "#EXT-X-TARGETDURATION:%d\n", target)
	passed := 0
	for i := range removed {
		if m.Breaks(i) {
			passed++
		}
	}
	b = fmt.Appendf(b, "#EXT-X-MEDIA-SEQUENCE:%d\n", removed)
	if passed > 0 {
		b = fmt.Appendf(b, "#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", passed)
	}
	switch {
	case !p.dvr:
		b = append(b, "#EXT-X-PLAYLIST-TYPE:VOD\n"...)
	case removed == 0:
		b = append(b, "#EXT-X-PLAYLIST-TYPE:EVENT\n"...)
	}
	return append(b, "#EXT-X-INDEPENDENT-SEGMENTS\n"...)
}

// longest is the duration of the longest segment, rounded to the nearest second as EXT-X-TARGETDURATION counts it
// (RFC 8216, 4.3.3.1); 1 at least.
func longest(m *Media) int {
	most := time.Second
	for i := range m.Segments {
		most = max(most, m.Segments[i].Duration)
	}
	return int(math.Round(most.Seconds()))
}
