// Package mp4fragment reads the index of fragmented MP4 files with one track (ISO/IEC 14496-12, 8.8), as the segmenter writes them.
// Their bytes may be torn or damaged: nothing is trusted.
package mp4fragment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	// BoxHeader is the size of a box's header in bytes.
	BoxHeader = 8
	// maxIndex bounds a moof box in bytes; ours have some kilobytes.
	maxIndex = 4 << 20
	// maxSamples bounds the samples of a fragment; ours have 1024 at most.
	maxSamples = 1 << 16
)

// Box is the header of a box.
type Box struct {
	Name string
	// Size is that of the content, in bytes.
	Size int64
}

// ReadHeader reads the header of a box with a size of 32 bits. At the end of the file it returns io.EOF.
func ReadHeader(r io.Reader) (Box, error) {
	var head [BoxHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Box{}, err
	}
	b := Box{Name: string(head[4:]), Size: int64(binary.BigEndian.Uint32(head[:])) - BoxHeader}
	if b.Size < 0 {
		return b, fmt.Errorf("a box %q has a wrong size", b.Name)
	}
	return b, nil
}

// Sample is a coded frame.
type Sample struct {
	Duration uint32 // in the track's time scale
	Size     uint32 // in bytes
	Flags    uint32
	Offset   int32 // presentation minus decoding time
}

// Index is the content of a moof box.
type Index struct {
	Sequence uint32
	// BaseTime is the decoding time of the first sample, in the track's time scale.
	BaseTime int64
	// Samples has at least one.
	Samples []Sample
	// Start is where the samples' media begins, in bytes from the beginning of the moof box; -1 if the index doesn't say it.
	Start int64
}

// Size is the size of the samples' media in bytes.
func (x *Index) Size() (sum int64) {
	for _, s := range x.Samples {
		sum += int64(s.Size)
	}
	return sum
}

// Ticks is the sum of the samples' durations.
func (x *Index) Ticks() (sum int64) {
	for _, s := range x.Samples {
		sum += int64(s.Duration)
	}
	return sum
}

// Read reads the content of a moof box, whose header was read. defaults are those of the initialization section (trex).
func Read(r io.Reader, box Box, defaults Sample) (Index, error) {
	if box.Name != "moof" || box.Size > maxIndex {
		return Index{}, fmt.Errorf("a box %q of %d bytes is no index", box.Name, box.Size)
	}
	content := make([]byte, box.Size)
	if _, err := io.ReadFull(r, content); err != nil {
		return Index{}, fmt.Errorf("read an index: %w", err)
	}
	return parse(content, defaults)
}

func parse(moof []byte, defaults Sample) (Index, error) {
	x, tracks := Index{Start: -1}, 0
	err := each(moof, func(name string, content []byte) error {
		switch name {
		case "mfhd":
			f := fields{left: content}
			f.next()
			x.Sequence = f.next()
			return f.fault()
		case "traf":
			tracks++
			return x.track(content, defaults)
		}
		return nil
	})
	switch {
	case err != nil:
		return x, err
	case tracks != 1 || len(x.Samples) == 0:
		return x, fmt.Errorf("a fragment has %d tracks and %d samples", tracks, len(x.Samples))
	}
	return x, nil
}

// each calls fn for each box in b.
func each(b []byte, fn func(name string, content []byte) error) error {
	for len(b) > 0 {
		if len(b) < BoxHeader {
			return errTorn
		}
		size := int64(binary.BigEndian.Uint32(b))
		if size < BoxHeader || size > int64(len(b)) {
			return errTorn
		}
		if err := fn(string(b[4:8]), b[BoxHeader:size]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// track parses a traf box.
func (x *Index) track(traf []byte, defaults Sample) error {
	return each(traf, func(name string, content []byte) error {
		f := fields{left: content}
		switch name {
		case "tfhd":
			defaults = trackDefaults(&f, defaults)
		case "tfdt":
			if version := f.next() >> 24; version == 0 {
				x.BaseTime = int64(f.next())
			} else {
				x.BaseTime = int64(f.next())<<32 | int64(f.next())
			}
		case "trun":
			return x.run(&f, defaults)
		}
		return f.fault()
	})
}

// Flags of tfhd (8.8.7).
const (
	hasBaseOffset      = 0x01
	hasDescription     = 0x02
	hasDefaultDuration = 0x08
	hasDefaultSize     = 0x10
	hasDefaultFlags    = 0x20
)

func trackDefaults(f *fields, d Sample) Sample {
	flags := f.next()
	f.next() // the track's id
	if flags&hasBaseOffset != 0 {
		f.next()
		f.next()
	}
	if flags&hasDescription != 0 {
		f.next()
	}
	for _, field := range []struct {
		flag uint32
		to   *uint32
	}{{hasDefaultDuration, &d.Duration}, {hasDefaultSize, &d.Size}, {hasDefaultFlags, &d.Flags}} {
		if flags&field.flag != 0 {
			*field.to = f.next()
		}
	}
	return d
}

// Flags of trun (8.8.8).
const (
	hasDataOffset = 0x001
	hasFirstFlags = 0x004
	hasDuration   = 0x100
	hasSize       = 0x200
	hasFlags      = 0x400
	hasOffset     = 0x800
)

// run parses a trun box. Runs must follow each other in the media.
func (x *Index) run(f *fields, defaults Sample) error {
	flags, count := f.next(), int(f.next())
	if count > maxSamples-len(x.Samples) {
		return errors.New("a fragment has too many samples")
	}
	if flags&hasDataOffset != 0 {
		at := int64(int32(f.next()))
		if len(x.Samples) == 0 {
			x.Start = at
		} else if at != x.Start+x.Size() {
			return errors.New("the media is not in the order of its index")
		}
	}
	first := defaults.Flags
	if flags&hasFirstFlags != 0 {
		first = f.next()
	}
	for i := range count {
		s := defaults
		if i == 0 {
			s.Flags = first
		}
		if flags&hasDuration != 0 {
			s.Duration = f.next()
		}
		if flags&hasSize != 0 {
			s.Size = f.next()
		}
		if flags&hasFlags != 0 {
			s.Flags = f.next()
		}
		if flags&hasOffset != 0 {
			s.Offset = int32(f.next())
		}
		if f.torn {
			return errTorn
		}
		x.Samples = append(x.Samples, s)
	}
	return f.fault()
}

var errTorn = errors.New("a box is torn")

// fields reads the 32-bit fields of a box; beyond its end they are 0.
type fields struct {
	left []byte
	torn bool
}

func (f *fields) next() uint32 {
	if len(f.left) < 4 {
		f.left, f.torn = nil, true
		return 0
	}
	v := binary.BigEndian.Uint32(f.left)
	f.left = f.left[4:]
	return v
}

// fault returns an error if a field was beyond the end.
func (f *fields) fault() error {
	if f.torn {
		return errTorn
	}
	return nil
}
