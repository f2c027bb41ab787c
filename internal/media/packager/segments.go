package packager

import (
	"bytes"
	"fmt"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"
)

// segment is a run of samples that becomes one fragment.
type segment struct {
	first, end int   // samples
	at         int64 // decoding time of the first one, in the track's scale
	shown      int64 // its earliest presentation time
	lasts      int64 // until the next segment's, in the track's scale
	media      int64 // bytes of the samples
	key        int64 // bytes of the first sample
	index      int64 // bytes of the fragment's index (moof)
}

// mdatHeader is the size of the header of the box with the media in bytes.
const mdatHeader = 8

// size is that of the fragment in bytes.
func (s *segment) size() int64 { return s.index + mdatHeader + s.media }

// plan divides a track. Pictures are cut at the first key frame of each multiple of the length, sound where the pictures are cut.
// pictures is nil if there are none.
func (t *track) plan(length time.Duration, pictures *track) []segment {
	var cuts []time.Duration
	switch {
	case t.video:
		return t.divide(t.keys(length))
	case pictures != nil:
		for _, g := range pictures.plan(length, nil) {
			cuts = append(cuts, pictures.duration(g.shown))
		}
		cuts = filled(cuts, length, t.length())
	default:
		for at, end := time.Duration(0), t.length(); at < end; at += length {
			cuts = append(cuts, at)
		}
	}
	return t.divide(t.frames(cuts))
}

// filled adds cuts where the pictures have none for long: before the first, after the last, and while a picture stands still.
func filled(cuts []time.Duration, length, end time.Duration) (list []time.Duration) {
	at := time.Duration(0)
	for _, next := range append(cuts, end) {
		for at+2*length <= next {
			at += length
			list = append(list, at)
		}
		if next < end {
			at = next
			list = append(list, at)
		}
	}
	return list
}

func (t *track) duration(ticks int64) time.Duration {
	return time.Duration(float64(ticks) / float64(t.scale) * float64(time.Second))
}

// length is when the track ends.
func (t *track) length() time.Duration {
	at := t.start
	for i := t.first; i < len(t.samples); i++ {
		at += int64(t.samples[i].duration)
	}
	return t.duration(at - t.shift)
}

// keys are the samples at which pictures are cut: the first key frame at or after each multiple of the length.
func (t *track) keys(length time.Duration) (list []int) {
	const tolerance = time.Millisecond // of rounded times
	at, next := t.start, time.Duration(0)
	for i := t.first; i < len(t.samples); i++ {
		s := &t.samples[i]
		if s.sync {
			shown := t.duration(at+int64(s.offset)-t.shift) + tolerance
			if len(list) == 0 || shown >= next {
				list = append(list, i)
				next = shown - shown%length + length
			}
		}
		at += int64(s.duration)
	}
	return list
}

// frames are the first samples at or after times.
func (t *track) frames(times []time.Duration) (list []int) {
	at, next := t.start, 0
	for i := t.first; i < len(t.samples); i++ {
		if len(list) == 0 || next < len(times) && t.duration(at) >= times[next] {
			list = append(list, i)
			for next < len(times) && times[next] <= t.duration(at) {
				next++
			}
		}
		at += int64(t.samples[i].duration)
	}
	return list
}

// divide makes the segments that begin with the samples. Samples before the first one cannot be decoded, and are left out.
func (t *track) divide(begins []int) (list []segment) {
	at, end, next := t.start, int64(0), 0
	for i := t.first; i < len(t.samples); i++ {
		s := &t.samples[i]
		shown := at + int64(s.offset) - t.shift
		end = max(end, shown+int64(s.duration))
		if next < len(begins) && begins[next] == i {
			list = append(list, segment{first: i, at: at, shown: shown, key: int64(s.size)})
			next++
		}
		at += int64(s.duration)
		if len(list) == 0 {
			continue
		}
		g := &list[len(list)-1]
		g.end, g.media = i+1, g.media+int64(s.size)
		g.shown = min(g.shown, shown)
	}
	for i := range list {
		list[i].lasts = end - list[i].shown
		if i+1 < len(list) {
			list[i].lasts = list[i+1].shown - list[i].shown
		}
		list[i].lasts = max(list[i].lasts, 1)
	}
	return list
}

// Flags of samples (ISO/IEC 14496-12, 8.8.3.1).
const (
	keyFlags   = 0x02000000 // depends on no other
	otherFlags = 0x01010000 // depends on others, and isn't a key frame
)

// trackID is that of the only track of each file.
const trackID = 1

// moof makes the index of segment number n, from 1.
func (t *track) moof(n int, g *segment) ([]byte, error) {
	run := &mp4.TrunBox{Version: 1, Flags: mp4.TrunDataOffsetPresentFlag | mp4.TrunSampleDurationPresentFlag | mp4.TrunSampleSizePresentFlag}
	if t.video {
		run.Flags |= mp4.TrunSampleFlagsPresentFlag | mp4.TrunSampleCompositionTimeOffsetPresentFlag
	}
	run.Samples = make([]mp4.Sample, 0, g.end-g.first)
	for _, s := range t.samples[g.first:g.end] {
		flags := uint32(otherFlags)
		if s.sync {
			flags = keyFlags
		}
		run.Samples = append(run.Samples, mp4.Sample{Flags: flags, Dur: s.duration, Size: s.size, CompositionTimeOffset: s.offset})
	}
	const baseIsMoof, hasFlags = 0x020000, 0x20
	head := &mp4.TfhdBox{Flags: baseIsMoof | hasFlags, TrackID: trackID, DefaultSampleFlags: keyFlags}
	traf := &mp4.TrafBox{}
	moof := &mp4.MoofBox{}
	for _, box := range []mp4.Box{head, mp4.CreateTfdt(uint64(g.at)), run} {
		if err := traf.AddChild(box); err != nil {
			return nil, fmt.Errorf("make a fragment: %w", err)
		}
	}
	for _, box := range []mp4.Box{mp4.CreateMfhd(uint32(n)), traf} {
		if err := moof.AddChild(box); err != nil {
			return nil, fmt.Errorf("make a fragment: %w", err)
		}
	}
	run.DataOffset = int32(moof.Size()) + mdatHeader
	var b bytes.Buffer
	if err := moof.Encode(&b); err != nil {
		return nil, fmt.Errorf("write a fragment: %w", err)
	}
	return b.Bytes(), nil
}

// init makes the initialization section. Pictures that are decoded before others, but shown after them, have an edit list which makes
// the first one begin at 0 (ISO/IEC 23000-19, 7.5.13). Negative offsets would do the same, but ffmpeg shows them later than the sound.
func (t *track) init() ([]byte, error) {
	kind := "audio"
	if t.video {
		kind = "video"
	}
	section := mp4.CreateEmptyInit()
	trak := section.AddEmptyTrack(t.scale, kind, "und")
	trak.Mdia.Minf.Stbl.Stsd.AddChild(t.entry)
	if t.shift > 0 {
		edts := &mp4.EdtsBox{}
		edts.AddChild(&mp4.ElstBox{Version: 1, Entries: []mp4.ElstEntry{{MediaTime: t.shift, MediaRateInteger: 1}}})
		trak.AddChild(edts)
	}
	trak.Tkhd.Width, trak.Tkhd.Height = mp4.Fixed32(uint32(t.width)<<16), mp4.Fixed32(uint32(t.height)<<16)
	brands := []string{"iso6", "cmfc"}
	for i, box := range section.Children {
		if box.Type() == "ftyp" {
			section.Ftyp = mp4.NewFtyp("cmfc", 0, brands)
			section.Children[i] = section.Ftyp
		}
	}
	var b bytes.Buffer
	if err := section.Encode(&b); err != nil {
		return nil, fmt.Errorf("write an initialization section: %w", err)
	}
	return b.Bytes(), nil
}

// sidx makes the index of a file. The segments' sizes are known.
func (t *track) sidx(segments []segment) ([]byte, error) {
	box := &mp4.SidxBox{Version: 1, ReferenceID: trackID, Timescale: t.scale, EarliestPresentationTime: uint64(max(segments[0].shown, 0))}
	for i := range segments {
		g := &segments[i]
		box.SidxRefs = append(box.SidxRefs, mp4.SidxRef{
			ReferencedSize: uint32(g.size()), SubSegmentDuration: uint32(g.lasts), StartsWithSAP: 1, SAPType: 1,
		})
	}
	var b bytes.Buffer
	if err := box.Encode(&b); err != nil {
		return nil, fmt.Errorf("write an index: %w", err)
	}
	return b.Bytes(), nil
}
