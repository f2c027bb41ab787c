package mp4file

import (
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

	"showfloor/internal/media/mp4fragment"
)

// table is the index of one track. Times are in its scale, and sample times begin at the file's
// beginning.
type table struct {
	video bool
	scale int64

	entries       []mp4.Box // sample entries
	encoded       [][]byte
	width, height uint16

	sizes []uint32
	sync  []uint32 // numbers of sync samples, from 1

	// Runs of equal durations and composition offsets.
	durations, offsets runs

	chunks  []int64 // sizes
	grouped []group

	start int64 // decoding time of the first sample
	last  int64 // of the last one
	rest  int64 // how long the last one lasts by its fragment
}

// runs are values with the number of their repetitions.
type runs struct {
	counts []uint32
	values []int32
}

func (r *runs) add(v int32) {
	if n := len(r.values); n > 0 && r.values[n-1] == v {
		r.counts[n-1]++
		return
	}
	r.counts, r.values = append(r.counts, 1), append(r.values, v)
}

// group is chunks from first on (from 1) that have as many samples and the same description.
type group struct{ first, samples, description uint32 }

// add adds a fragment to a table, at its place on the file's timeline. Each sample lasts to the
// next one, so a hole, such as one between takes, makes a sample last longer.
func (p *preparation) add(t *table, f *fragment) chunk {
	scale := f.init.scale
	base := rational{int64(p.anchor), int64(time.Second)}.in(t.scale) // where the zero is
	at := f.at - p.zero.in(scale)
	c := chunk{audio: !t.video, skip: f.skip, size: f.size, sets: t.sets(f.init.description)}
	offset := int64(0)
	for _, s := range f.samples {
		size := int64(s.Size)
		if isSync(s) && len(c.sets) > 0 {
			c.keys = append(c.keys, offset)
			s.Size += uint32(len(c.sets))
		}
		offset += size
		t.put(base+rational{at, scale}.in(t.scale), s, scale)
		at += int64(s.Duration)
	}
	t.chunks = append(t.chunks, c.written())
	g := group{uint32(len(t.chunks)), uint32(len(f.samples)), f.init.description}
	if n := len(t.grouped); n == 0 || t.grouped[n-1].samples != g.samples || t.grouped[n-1].description != g.description {
		t.grouped = append(t.grouped, g)
	}
	return c
}

// put adds a sample that is decoded at a time. No sample lasts less than a tick.
func (t *table) put(at int64, s mp4fragment.Sample, scale int64) {
	if len(t.sizes) == 0 {
		t.start = at
	} else {
		at = max(at, t.last+1)
		t.durations.add(int32(at - t.last))
	}
	t.last, t.rest = at, max(rational{int64(s.Duration), scale}.in(t.scale), 1)
	t.sizes = append(t.sizes, s.Size)
	t.offsets.add(int32(rational{int64(s.Offset), scale}.in(t.scale)))
	if isSync(s) {
		t.sync = append(t.sync, uint32(len(t.sizes)))
	}
}

// isSync reports whether decoding can start at a sample (ISO/IEC 14496-12, 8.8.3.1). Not every writer
// says that it depends on no other one.
func isSync(s mp4fragment.Sample) bool { return s.Flags&0x10000 == 0 }

// finish returns the durations, with the last sample's; the last picture lasts to the end, at
// least a tick.
func (t *table) finish(end int64) runs {
	rest := t.rest
	if t.video {
		rest = max(end-t.last, 1)
	}
	r := runs{append([]uint32(nil), t.durations.counts...), append([]int32(nil), t.durations.values...)}
	r.add(int32(rest))
	return r
}

// sum is the length of all runs in ticks.
func (r *runs) sum() int64 {
	total := int64(0)
	for i, v := range r.values {
		total += int64(v) * int64(r.counts[i])
	}
	return total
}
