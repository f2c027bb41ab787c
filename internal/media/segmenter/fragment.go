package segmenter

import (
	"encoding/binary"

	"showfloor/internal/media/hub"
)

// Sample flags of ISO/IEC 14496-12, 8.8.3.1.
const (
	flagsSync    = 0x02000000 // is independent of other samples
	flagsNonSync = 0x01010000 // depends on others, is not a sync sample
)

// sample is one coded frame in a fragment.
type sample struct {
	data     []byte
	duration uint32 // in the track's time scale
	offset   int32  // presentation minus decoding time, in the time scale
	sync     bool
	unit     *hub.Unit // the picture's unit; nil for audio, and for a picture that the segmenter has made
}

// TrackSamples holds the samples of one track in a part, without gaps.
type TrackSamples struct {
	track   uint32
	base    uint64 // decoding time of the first sample, in the time scale
	video   bool
	samples []sample
}

// Video reports whether it is the video track; otherwise it is the audio track.
func (t *TrackSamples) Video() bool { return t.video }

// Ticks is the sum of the samples' durations, in the track's time scale.
func (t *TrackSamples) Ticks() int64 {
	sum := int64(0)
	for i := range t.samples {
		sum += int64(t.samples[i].duration)
	}
	return sum
}

// entrySize is the size of a sample's entry in the track's index, in bytes. An audio entry has only
// the sample's size: all durations are the same, unless there was a gap.
func (t *TrackSamples) entrySize() int {
	if t.video {
		return 16
	}
	if t.uniform() {
		return 4
	}
	return 8
}

func (t *TrackSamples) uniform() bool {
	for i := range t.samples {
		if t.samples[i].duration != t.samples[0].duration {
			return false
		}
	}
	return true
}

func (t *TrackSamples) bytes() int {
	n := 0
	for i := range t.samples {
		n += len(t.samples[i].data)
	}
	return n
}

// Sizes of boxes with a fixed size, in bytes.
const (
	boxHeader = 8
	mfhdSize  = 16
	tfhdSize  = 24
	tfdtSize  = 20
	trunSize  = 20 // without entries
)

// fragmentSize returns the sizes of the boxes of a fragment: moof, and the media in mdat without its header.
func fragmentSize(tracks []TrackSamples) (moof, media int) {
	moof = boxHeader + mfhdSize
	for i := range tracks {
		t := &tracks[i]
		moof += boxHeader + tfhdSize + tfdtSize + trunSize + len(t.samples)*t.entrySize()
		media += t.bytes()
	}
	return moof, media
}

// appendFragment appends a moof and an mdat box to b, which grows at most once, to the exact size.
// mediacommon's Part does the same by reflection, field by field, and copies the media twice; at
// five parts a second for each stream, that would be most of a muxer's cost (see
// BenchmarkFragment).
func appendFragment(b []byte, sequence uint32, tracks []TrackSamples) []byte {
	moof, media := fragmentSize(tracks)
	if size := moof + boxHeader + media; cap(b)-len(b) < size {
		b = append(make([]byte, 0, len(b)+size), b...)
	}
	w := boxWriter{buf: b}
	w.box(moof, "moof")
	w.fullBox(mfhdSize, "mfhd", 0, 0)
	w.u32(sequence)
	offset := moof + boxHeader
	for i := range tracks {
		w.traf(&tracks[i], offset)
		offset += tracks[i].bytes()
	}
	w.box(boxHeader+media, "mdat")
	for _, t := range tracks {
		for j := range t.samples {
			w.buf = append(w.buf, t.samples[j].data...)
		}
	}
	return w.buf
}

type boxWriter struct{ buf []byte }

func (b *boxWriter) u32(v uint32) { b.buf = binary.BigEndian.AppendUint32(b.buf, v) }
func (b *boxWriter) u64(v uint64) { b.buf = binary.BigEndian.AppendUint64(b.buf, v) }

func (b *boxWriter) box(size int, name string) {
	b.u32(uint32(size))
	b.buf = append(b.buf, name...)
}

func (b *boxWriter) fullBox(size int, name string, version byte, flags uint32) {
	b.box(size, name)
	b.u32(uint32(version)<<24 | flags)
}

// traf writes a track's index. The track's media begins offset bytes after the start of the moof
// box.
func (b *boxWriter) traf(t *TrackSamples, offset int) {
	const (
		baseIsMoof      = 0x020000
		defaultDuration = 0x08
		defaultFlags    = 0x20
	)
	trun := trunSize + len(t.samples)*t.entrySize()
	b.box(boxHeader+tfhdSize+tfdtSize+trun, "traf")
	b.fullBox(tfhdSize, "tfhd", 0, baseIsMoof|defaultDuration|defaultFlags)
	b.u32(t.track)
	b.u32(t.samples[0].duration)
	b.u32(flagsSync)
	b.fullBox(tfdtSize, "tfdt", 1, 0)
	b.u64(t.base)
	b.trun(t, trun, offset)
}

func (b *boxWriter) trun(t *TrackSamples, size, offset int) {
	const (
		dataOffset   = 0x001
		durations    = 0x100
		sizes        = 0x200
		sampleFlags  = 0x400
		compositions = 0x800
	)
	entry := t.entrySize()
	flags := uint32(dataOffset | sizes)
	switch entry {
	case 16:
		flags |= durations | sampleFlags | compositions
	case 8:
		flags |= durations
	}
	b.fullBox(size, "trun", 1, flags)
	b.u32(uint32(len(t.samples)))
	b.u32(uint32(offset))
	for i := range t.samples {
		s := &t.samples[i]
		if entry > 4 {
			b.u32(s.duration)
		}
		b.u32(uint32(len(s.data)))
		if entry == 16 {
			if s.sync {
				b.u32(flagsSync)
			} else {
				b.u32(flagsNonSync)
			}
			b.u32(uint32(s.offset))
		}
	}
}
