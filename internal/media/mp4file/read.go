package mp4file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

	"showfloor/internal/media/mp4fragment"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/vod"
)

// maxIndex bounds a box that is read into memory, in bytes: the index of a fragment or an init.
const maxIndex = 4 << 20

// preparation collects what the file's index needs.
type preparation struct {
	files  Files
	media  *vod.Media
	tracks [2]*table // of pictures and sound
	order  []uint8   // the track of each chunk

	inits map[initKey]*section
	// at is where the next segment begins on the file's timeline.
	at time.Duration
	// zero is the decoding time of the first sample since the last break, and anchor where that is
	// on the file's timeline.
	zero   rational
	anchor time.Duration
	// lead is how much later than its decoding the first picture is shown. Sound before that is
	// left out by the edit list, so both tracks start together.
	lead rational
}

// rational is a time in ticks of a scale in Hz.
type rational struct {
	ticks int64
	scale int64
}

// in converts to another scale, rounded to the nearest tick.
func (r rational) in(scale int64) int64 {
	if r.scale == scale || r.scale == 0 {
		return r.ticks
	}
	half := r.scale / 2
	if r.ticks < 0 {
		half = -half
	}
	return r.ticks/r.scale*scale + (r.ticks%r.scale*scale+half)/r.scale
}

type initKey struct {
	take, number int
	video        bool
}

// section is what is kept of an initialization section.
type section struct {
	scale       int64
	defaults    mp4fragment.Sample
	description uint32 // index of its sample entry, from 1
}

// readInits reads the initialization sections that segments use.
func (p *preparation) readInits(ctx context.Context) error {
	p.inits = map[initKey]*section{}
	for i := range p.media.Segments {
		s := &p.media.Segments[i]
		for _, t := range p.tracks {
			key := initKey{s.Take, s.Init, t.video}
			if p.inits[key] != nil || stored(s, t.video) == 0 {
				continue
			}
			name := recordfile.Init(s.Take, s.Init, trackOf(t.video))
			in, err := p.readInit(ctx, name, t)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			p.inits[key] = in
		}
	}
	return nil
}

func trackOf(video bool) recordfile.Track {
	if video {
		return recordfile.Video
	}
	return recordfile.Audio
}

// stored is the size of a segment's track.
func stored(s *vod.Segment, video bool) int64 {
	if video {
		return s.VideoBytes
	}
	return s.AudioBytes
}

func (p *preparation) readInit(ctx context.Context, name string, t *table) (*section, error) {
	r, err := p.files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	file, err := mp4.DecodeFile(io.LimitReader(r, maxIndex))
	if err != nil {
		return nil, err
	}
	if file.Init == nil || file.Init.Moov == nil || len(file.Init.Moov.Traks) != 1 ||
		file.Init.Moov.Mvex == nil || file.Init.Moov.Mvex.Trex == nil {
		return nil, errors.New("not an initialization section of one track")
	}
	trak := file.Init.Moov.Trak
	entries := trak.Mdia.Minf.Stbl.Stsd.Children
	if len(entries) != 1 {
		return nil, fmt.Errorf("%d sample entries, not one", len(entries))
	}
	description, err := t.describe(entries[0])
	if err != nil {
		return nil, err
	}
	trex := file.Init.Moov.Mvex.Trex
	in := &section{scale: int64(trak.Mdia.Mdhd.Timescale), description: description, defaults: mp4fragment.Sample{
		Duration: trex.DefaultSampleDuration, Size: trex.DefaultSampleSize, Flags: trex.DefaultSampleFlags,
	}}
	if t.scale == 0 {
		t.scale = in.scale
	}
	return in, nil
}

// describe adds a sample entry to the track, unless it is there, and returns its index.
func (t *table) describe(entry mp4.Box) (uint32, error) {
	var b bytes.Buffer
	if err := entry.Encode(&b); err != nil {
		return 0, fmt.Errorf("sample entry: %w", err)
	}
	for i, known := range t.entries {
		if known.Type() != entry.Type() {
			return 0, ErrCodecs
		}
		if bytes.Equal(t.encoded[i], b.Bytes()) {
			return uint32(i + 1), nil
		}
	}
	t.entries, t.encoded = append(t.entries, entry), append(t.encoded, b.Bytes())
	if v, ok := entry.(*mp4.VisualSampleEntryBox); ok {
		t.width, t.height = max(t.width, v.Width), max(t.height, v.Height)
	}
	return uint32(len(t.entries)), nil
}

// readSegment adds segment i to the tables.
func (p *preparation) readSegment(ctx context.Context, i int) (source, error) {
	s := &p.media.Segments[i]
	out := source{}
	var fragments [2][]*fragment
	for n, t := range p.tracks {
		if stored(s, t.video) == 0 {
			continue
		}
		out.names[n] = recordfile.Segment(s.Take, s.Number, trackOf(t.video))
		list, err := p.readFragments(ctx, out.names[n], p.inits[initKey{s.Take, s.Init, t.video}])
		if err != nil {
			return out, fmt.Errorf("%s: %w", out.names[n], err)
		}
		fragments[n] = list
	}
	if i == 0 || p.media.Breaks(i) {
		p.anchor = p.at
		p.setZero(fragments, i == 0)
	}
	// In turn, so that a player that loads the file has sound and picture of the same time.
	for n := range max(len(fragments[0]), len(fragments[1])) {
		for track, list := range fragments {
			if n < len(list) {
				out.chunks = append(out.chunks, p.add(p.tracks[track], list[n]))
				p.order = append(p.order, uint8(track))
			}
		}
	}
	p.at += s.Duration
	return out, nil
}

// setZero takes the first picture's decoding time as the zero of what follows a break, as players
// of the playlist do; without pictures that of the sound.
func (p *preparation) setZero(fragments [2][]*fragment, first bool) {
	for n, list := range fragments {
		if len(list) == 0 {
			continue
		}
		p.zero = rational{list[0].at, list[0].init.scale}
		if first && n == 0 {
			p.lead = rational{list[0].firstShown(), list[0].init.scale}
		}
		return
	}
}

// fragment is the index of a moof box with one track.
type fragment struct {
	init    *section
	at      int64 // decoding time of the first sample
	samples []mp4fragment.Sample
	// skip is the number of bytes from the end of the last fragment's media to the beginning of
	// this one's.
	skip, size int64
}

// firstShown is the time from the first sample's decoding to the earliest presentation.
func (f *fragment) firstShown() int64 {
	least, at := int64(f.samples[0].Offset), int64(0)
	for _, s := range f.samples {
		least = min(least, at+int64(s.Offset))
		at += int64(s.Duration)
	}
	return max(least, 0)
}

// readFragments reads the index of a segment's file.
func (p *preparation) readFragments(ctx context.Context, name string, in *section) ([]*fragment, error) {
	r, err := p.files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var list []*fragment
	var open *fragment
	skip, moof := int64(0), int64(0)
	for {
		box, err := mp4fragment.ReadHeader(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		size := mp4fragment.BoxHeader + box.Size
		switch box.Name {
		case "moof":
			x, err := mp4fragment.Read(r, box, in.defaults)
			if err != nil {
				return nil, err
			}
			open = &fragment{init: in, at: x.BaseTime, samples: x.Samples, skip: x.Start, size: x.Size()}
			moof = size
			skip += size
		case "mdat":
			inside, err := open.place(moof+mp4fragment.BoxHeader, box.Size)
			if err != nil {
				return nil, err
			}
			open.skip = skip + mp4fragment.BoxHeader + inside
			list = append(list, open)
			if err := discard(r, box.Size); err != nil {
				return nil, err
			}
			skip, open = box.Size-inside-open.size, nil
		default:
			if err := discard(r, box.Size); err != nil {
				return nil, err
			}
			skip, moof = skip+size, moof+size
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no media")
	}
	return list, nil
}

// place returns where the fragment's media begins in the data of its mdat box, which begins start
// bytes behind the beginning of the moof box.
func (f *fragment) place(start, size int64) (int64, error) {
	if f == nil {
		return 0, errors.New("media without an index")
	}
	inside := max(f.skip, start) - start
	if f.skip >= 0 && f.skip < start || inside+f.size > size {
		return 0, errors.New("the index is of other media")
	}
	return inside, nil
}
