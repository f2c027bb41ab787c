package hls

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/media/segmenter"
)

// segmentLines are a segment's lines in the playlist. They are rendered once and then copied into
// each playlist.
type segmentLines struct {
	mu    sync.Mutex
	head  []byte // the lines before the parts
	parts []byte
	ends  []int // where the line of each part ends in parts
}

// lead writes the tags before a segment's media. mapped is false when EXT-X-MAP must be repeated,
// because the list begins here or the configuration differs from the predecessor's.
func (s *segment) lead(b []byte, mapped bool) []byte {
	if s.discontinuity {
		b = append(b, "#EXT-X-DISCONTINUITY\n"...)
	}
	if !mapped {
		b = append(b, `#EXT-X-MAP:URI="init`...)
		b = strconv.AppendInt(b, int64(s.config.ID), 10)
		b = append(b, ".mp4\"\n"...)
	}
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if s.lines.head == nil {
		date := s.wall.UTC().Format("2006-01-02T15:04:05.000Z")
		s.lines.head = []byte("#EXT-X-PROGRAM-DATE-TIME:" + date + "\n")
	}
	return append(b, s.lines.head...)
}

// partLines writes the lines of the segment's parts. The cached lines may include parts that
// were added after this copy of the segment was made.
func (s *segment) partLines(b []byte) []byte {
	l := s.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range s.parts[min(len(l.ends), len(s.parts)):] {
		l.parts = append(l.parts, "#EXT-X-PART:DURATION="...)
		l.parts = appendSeconds(l.parts, p.duration)
		l.parts = append(l.parts, `,URI="part`...)
		l.parts = strconv.AppendUint(l.parts, p.id, 10)
		l.parts = append(l.parts, `.mp4"`...)
		if p.independent {
			l.parts = append(l.parts, ",INDEPENDENT=YES"...)
		}
		l.parts = append(l.parts, '\n')
		l.ends = append(l.ends, len(l.parts))
	}
	if n := len(s.parts); n > 0 {
		b = append(b, l.parts[:l.ends[n-1]]...)
	}
	return b
}

// tail writes the lines of the segment itself, once it is complete.
func (s *segment) tail(b []byte) []byte {
	b = append(b, "#EXTINF:"...)
	b = appendSeconds(b, s.duration)
	b = append(b, ",\nseg"...)
	b = strconv.AppendUint(b, s.msn, 10)
	return append(b, ".mp4\n"...)
}

// appendSeconds writes a duration in seconds with five decimals.
func appendSeconds(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, d.Seconds(), 'f', 5, 64)
}

// skipTargets is how far behind the end, in target durations, a delta update may skip segments;
// the standard requires at least six.
const skipTargets = 6

// partTargets is how far behind the end parts are listed one by one.
const partTargets = 3

// playlist renders the media playlist; delta is nil when a delta update would skip nothing.
func (l *listing) playlist() (full, delta []byte) {
	list := l.segments[l.listed:]
	target := l.targetDuration()
	withParts, skipped := len(list), 0
	behind := time.Duration(0)
	for i, s := range slices.Backward(list) {
		if behind < partTargets*target {
			withParts = i
		}
		if behind += s.duration; behind > skipTargets*target {
			skipped = i
			break
		}
	}
	// A player that starts needs a part at which decoding can start.
	for withParts > 0 && withParts < len(list) && !slices.ContainsFunc(list[withParts:], (*segment).hasStart) {
		withParts--
	}
	if !l.lowLatency {
		withParts, skipped = len(list), 0
	}
	full = l.body(l.header(list), list, 0, withParts)
	if skipped > 0 {
		d := l.header(list)
		d = fmt.Appendf(d, "#EXT-X-SKIP:SKIPPED-SEGMENTS=%d\n", skipped)
		delta = l.body(d, list, skipped, withParts)
	}
	return full, delta
}

// hasStart reports whether decoding can start at a part of the segment.
func (s *segment) hasStart() bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.independent })
}

// gaps is the number of leading gaps that are still in the list.
func (l *listing) gaps(list []*segment) int {
	if !l.lowLatency || l.sealed || len(list) == 0 || list[0].msn != l.startMSN+leadingGaps {
		return 0
	}
	complete := len(list)
	if !list[complete-1].complete {
		complete--
	}
	return max(leadingGaps-complete, 0)
}

func (l *listing) header(list []*segment) []byte {
	b := make([]byte, 0, 4096)
	b = append(b, "#EXTM3U\n#EXT-X-VERSION:9\n"...)
	b = fmt.Appendf(b, "#EXT-X-TARGETDURATION:%d\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES", l.target)
	if l.lowLatency {
		b = append(b, ",PART-HOLD-BACK="...)
		b = appendSeconds(b, 3*l.partTarget)
		b = append(b, ",CAN-SKIP-UNTIL="...)
		b = appendSeconds(b, skipTargets*l.targetDuration())
		b = append(b, "\n#EXT-X-PART-INF:PART-TARGET="...)
		b = appendSeconds(b, l.partTarget)
	}
	first := l.nextMSN
	if len(list) > 0 {
		first = list[0].msn
	}
	first -= uint64(l.gaps(list))
	b = fmt.Appendf(b, "\n#EXT-X-MEDIA-SEQUENCE:%d\n", first)
	if l.passed > 0 {
		b = fmt.Appendf(b, "#EXT-X-DISCONTINUITY-SEQUENCE:%d\n", l.passed)
	}
	if l.dependent {
		return b
	}
	return append(b, "#EXT-X-INDEPENDENT-SEGMENTS\n"...)
}

// body writes the segments from index from on. Those from index withParts on are listed with
// parts.
func (l *listing) body(b []byte, list []*segment, from, withParts int) []byte {
	var mapped *segmenter.Configuration
	for range l.gaps(list) {
		b = fmt.Appendf(b, "#EXT-X-GAP\n#EXTINF:%d.00000,\ngap.mp4\n", l.target)
	}
	for i := from; i < len(list); i++ {
		s := list[i]
		if !s.complete && !l.lowLatency {
			break
		}
		b = s.lead(b, mapped == s.config)
		mapped = s.config
		if i >= withParts {
			b = s.partLines(b)
		}
		if s.complete {
			b = s.tail(b)
		}
	}
	switch {
	case l.sealed:
		return append(b, "#EXT-X-ENDLIST\n"...)
	case l.lowLatency:
		b = append(b, `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="part`...)
		b = strconv.AppendUint(b, l.nextID, 10)
		b = append(b, ".mp4\"\n"...)
	}
	for _, r := range l.reports {
		b = fmt.Appendf(b, "#EXT-X-RENDITION-REPORT:URI=\"../%s/live.m3u8\",LAST-MSN=%d", r.name, r.msn)
		if r.part >= 0 {
			b = fmt.Appendf(b, ",LAST-PART=%d", r.part)
		}
		b = append(b, '\n')
	}
	return b
}

// bandwidth returns the peak rate of the complete segments, and the average of all, in bits per
// second.
func (l *listing) bandwidth() (peak, average int) {
	bits, total := 0.0, 0.0
	for _, s := range l.segments {
		seconds := s.duration.Seconds()
		if seconds <= 0 {
			continue
		}
		bits += float64(s.size) * 8
		total += seconds
		if s.complete || len(l.segments) == 1 {
			peak = max(peak, int(float64(s.size)*8/seconds))
		}
	}
	if total > 0 {
		average = int(bits / total)
	}
	return max(peak, average), average
}

// variant appends an edition's entry in the multivariant playlist, with its rates in bits per second. The URI of the media playlist
// must follow.
func (l *listing) variant(b []byte, peak, average int, fps float64) []byte {
	c := l.config
	b = fmt.Appendf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q", max(peak, 1), max(average, 1), c.Codecs)
	if c.Video != nil {
		if c.Video.Width > 0 && c.Video.Height > 0 {
			b = fmt.Appendf(b, ",RESOLUTION=%dx%d", c.Video.Width, c.Video.Height)
		}
		if fps > 0 {
			b = fmt.Appendf(b, ",FRAME-RATE=%.3f", fps)
		}
	}
	return append(b, '\n')
}
