package mp4file

import (
	"math"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"
)

// moov makes the file's index. The media begins at an offset of the file; large makes offsets of
// 64 bits.
func (p *preparation) moov(total time.Duration, offset uint64, large bool) *mp4.MoovBox {
	moov := mp4.NewMoovBox()
	mvhd := mp4.CreateMvhd()
	mvhd.Timescale = movieScale
	moov.AddChild(mvhd)
	length := rational{int64(total), int64(time.Second)}.in(movieScale)
	places := p.places(offset)
	for n, t := range p.tracks {
		if len(t.sizes) == 0 {
			continue
		}
		mvhd.NextTrackID = uint32(n + 2)
		trak, lasts := p.trak(t, uint32(n+1), length)
		moov.AddChild(trak)
		addOffsets(trak.Mdia.Minf.Stbl, places[n], large)
		mvhd.Duration = max(mvhd.Duration, lasts)
	}
	mvhd.Version = version(mvhd.Duration)
	return moov
}

// version is the version of a box with a time: 1 has 64 bits.
func version(duration uint64) byte {
	if duration > math.MaxUint32 {
		return 1
	}
	return 0
}

// places are the offsets of all chunks in the file, by track.
func (p *preparation) places(offset uint64) [2][]uint64 {
	var out [2][]uint64
	for _, track := range p.order {
		t := p.tracks[track]
		size := uint64(t.chunks[len(out[track])])
		out[track] = append(out[track], offset)
		offset += size
	}
	return out
}

// trak makes a track's index, without the offsets of its chunks. It also returns how long the
// track lasts in movieScale.
func (p *preparation) trak(t *table, id uint32, length int64) (trak *mp4.TrakBox, lasts uint64) {
	kind := "audio"
	if t.video {
		kind = "video"
	}
	trak = mp4.CreateEmptyTrak(id, uint32(t.scale), kind, "und")
	lead := p.lead.in(t.scale)
	durations := t.finish(rational{length, movieScale}.in(t.scale) + lead)
	stbl := trak.Mdia.Minf.Stbl
	t.fill(stbl, durations)
	media := durations.sum()
	trak.Mdia.Mdhd.Duration = uint64(media)
	trak.Mdia.Mdhd.Version = version(uint64(media))

	edits := &mp4.ElstBox{}
	edit := mp4.ElstEntry{MediaTime: lead - t.start, MediaRateInteger: 1}
	if wait := t.start - lead; wait > 0 { // the track begins later than the other one
		empty := rational{wait, t.scale}.in(movieScale)
		edits.Entries = append(edits.Entries, mp4.ElstEntry{SegmentDuration: uint64(empty), MediaTime: -1, MediaRateInteger: 1})
		edit.MediaTime = 0
		lasts = uint64(empty)
	}
	edit.SegmentDuration = uint64(max(min(rational{media - edit.MediaTime, t.scale}.in(movieScale), length-int64(lasts)), 0))
	lasts += edit.SegmentDuration
	edits.Entries = append(edits.Entries, edit)
	if edits.Version = version(lasts); edit.MediaTime > math.MaxInt32 {
		edits.Version = 1
	}
	edts := &mp4.EdtsBox{}
	edts.AddChild(edits)
	insertEdits(trak, edts)

	trak.Tkhd.Duration, trak.Tkhd.Version = lasts, version(lasts)
	trak.Tkhd.Flags = 3 // enabled, in the movie
	trak.Tkhd.Width, trak.Tkhd.Height = mp4.Fixed32(uint32(t.width)<<16), mp4.Fixed32(uint32(t.height)<<16)
	return trak, lasts
}

// insertEdits puts the edit list before the media, where readers of the file's beginning expect it.
func insertEdits(trak *mp4.TrakBox, edts *mp4.EdtsBox) {
	trak.AddChild(edts)
	last := len(trak.Children) - 1
	copy(trak.Children[2:], trak.Children[1:last])
	trak.Children[1] = edts
}

// fill makes the sample tables.
func (t *table) fill(stbl *mp4.StblBox, durations runs) {
	for _, entry := range t.entries {
		stbl.Stsd.AddChild(entry)
	}
	stbl.Stts.SampleCount = durations.counts
	for _, v := range durations.values {
		stbl.Stts.SampleTimeDelta = append(stbl.Stts.SampleTimeDelta, uint32(v))
	}
	stbl.Stsz.SampleSize = t.sizes
	stbl.Stsz.SampleNumber = uint32(len(t.sizes))
	for _, g := range t.grouped {
		_ = stbl.Stsc.AddEntry(g.first, g.samples, g.description) // fails only if the first group isn't 1
	}
	if t.shifted() {
		ctts := &mp4.CttsBox{}
		for _, v := range t.offsets.values {
			if v < 0 {
				ctts.Version = 1
			}
		}
		_ = ctts.AddSampleCountsAndOffset(t.offsets.counts, t.offsets.values) // fails only for lists of different length
		stbl.AddChild(ctts)
	}
	if len(t.sync) < len(t.sizes) {
		stbl.AddChild(&mp4.StssBox{SampleNumber: t.sync})
	}
}

// shifted reports whether any sample is shown at another time than it is decoded.
func (t *table) shifted() bool {
	return len(t.offsets.values) > 1 || t.offsets.values[0] != 0
}

// addOffsets puts the chunks' offsets into the table.
func addOffsets(stbl *mp4.StblBox, places []uint64, large bool) {
	if !large {
		for _, at := range places {
			stbl.Stco.ChunkOffset = append(stbl.Stco.ChunkOffset, uint32(at))
		}
		return
	}
	for i, child := range stbl.Children {
		if child == mp4.Box(stbl.Stco) {
			stbl.Co64 = &mp4.Co64Box{ChunkOffset: places}
			stbl.Children[i] = stbl.Co64
		}
	}
	stbl.Stco = nil
}
