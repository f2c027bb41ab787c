// Package packager makes adaptive packages of MP4 files, without encoding again: HLS and DASH over the same CMAF tracks (ISO/IEC 23000-19).
//
// Each track is one file: an initialization section, an index (sidx), and a fragment for each segment. Playlists name the segments by
// their byte ranges, and DASH reads the index (its on-demand profile). So a long recording has a few files, not thousands.
package packager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Job is what Run makes.
type Job struct {
	// Sources are MP4 files of the same media, with the same timeline, and key frames at nearly the same times. There is at least one.
	Sources []Source
	// Segment is the target length of a segment. A segment ends at the first key frame at or after a multiple of it.
	Segment   time.Duration
	HLS, DASH bool
	Texts     []Text
	// Put stores a file of size bytes. It reads r to its end unless it fails.
	Put func(ctx context.Context, name string, r io.Reader, size int64) error
	// Progress is called with the bytes that are read, and those of all sources. It may be nil.
	Progress func(done, all int64)
}

// Source is an MP4 file.
type Source struct {
	// Name is that of the rendition: [A-Za-z0-9][A-Za-z0-9_-]*. Each has another one.
	Name string
	// Size in bytes.
	Size int64
	// AudioKbps is the bitrate of the sound that was requested in kbit/s. Only one of several files with the same bitrate is read for
	// its sound. 0: no sound.
	AudioKbps int
	// Open opens the file: length bytes from offset on, to the end if length is negative.
	Open func(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

// Text is a text track in one language.
type Text struct {
	// Language is as in BCP 47, and Name for players' menus.
	Language, Name string
	// Captions: it also describes sounds.
	Captions bool
	// Content is a WebVTT file whose times count from the beginning of the media. For HLS it has the header
	// X-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000 (RFC 8216, 3.5), which other players skip.
	Content []byte
}

// Names of the manifests.
const (
	HLSName  = "master.m3u8"
	DASHName = "manifest.mpd"
)

// Package is a finished package.
type Package struct {
	// HLS and DASH are the bytes of a manifest with all files that it needs; 0 without it.
	HLS, DASH int64
	// Size is the bytes of all files.
	Size int64
}

// MediaError is a fault of a source, which another try doesn't change. Reason is a text for the tenant.
type MediaError struct{ Reason string }

func (e *MediaError) Error() string { return e.Reason }

// Run makes a package. An error of Source.Open, its reader or Job.Put is wrapped. After an error, files may be missing or incomplete.
func Run(ctx context.Context, j Job) (Package, error) {
	p := &packaging{Job: j}
	for _, s := range j.Sources {
		p.all += s.Size
	}
	voices := map[int]bool{}
	for _, s := range j.Sources {
		if err := p.source(ctx, s, voices); err != nil {
			return Package{}, err
		}
	}
	if len(p.video)+len(p.audio) == 0 {
		return Package{}, &MediaError{"The files have neither pictures nor sound."}
	}
	slices.SortStableFunc(p.video, byBandwidth)
	slices.SortStableFunc(p.audio, byBandwidth)
	return p.manifests(ctx)
}

// packaging is the state of Run.
type packaging struct {
	Job

	video, audio []stored // sorted by their bitrates
	done, all    int64
}

// stored is a track that is stored.
type stored struct {
	name   string // of its files, without their endings
	source string
	// audioKbps is that of the source.
	audioKbps     int
	codec         string
	width, height int
	frameRate     float64
	rate, voices  int // sampling rate in Hz and channels
	segments      []segment
	scale         uint32
	initSize      int64 // bytes of the initialization section
	indexSize     int64 // bytes of the index, behind it
	size          int64
	peak, average int // bits per second
	length        time.Duration
}

func byBandwidth(a, b stored) int { return cmp.Compare(a.peak, b.peak) }

// source stores the tracks of a source. voices has the bitrates of the sound that is stored.
func (p *packaging) source(ctx context.Context, s Source, voices map[int]bool) error {
	tracks, err := readIndex(ctx, s)
	if err != nil {
		return err
	}
	var pictures *track
	var outs []*output
	for _, t := range tracks {
		switch {
		case t.video && pictures == nil:
			pictures = t
		case t.video, s.AudioKbps == 0, voices[s.AudioKbps]:
			continue
		default:
			voices[s.AudioKbps] = true
		}
		outs = append(outs, &output{track: t})
	}
	for _, o := range outs {
		o.segments = o.track.plan(p.Segment, pictures)
		if len(o.segments) == 0 {
			return damaged(errors.New("a track has no media"))
		}
		if err := o.head(p.Segment); err != nil {
			return err
		}
	}
	base := p.done
	err = write(ctx, s, outs, p.Put, func(read int64) {
		if p.Progress != nil {
			p.Progress(base+read, p.all)
		}
	})
	if err != nil {
		return err
	}
	p.done += s.Size
	for _, o := range outs {
		if o.track.video {
			p.video = append(p.video, o.stored(s))
		} else {
			p.audio = append(p.audio, o.stored(s))
		}
	}
	return nil
}

// damaged is the fault of a file that isn't as it should be.
func damaged(err error) error {
	return errors.Join(&MediaError{"A file of the transcode is damaged."}, err)
}

// put stores a small file and returns its size.
func (p *packaging) put(ctx context.Context, name string, content []byte) (int64, error) {
	if err := p.Put(ctx, name, newReader(content), int64(len(content))); err != nil {
		return 0, fmt.Errorf("store %s: %w", name, err)
	}
	return int64(len(content)), nil
}

// manifests stores the texts, playlists and manifests.
func (p *packaging) manifests(ctx context.Context) (made Package, err error) {
	tracks := int64(0)
	for _, s := range slices.Concat(p.video, p.audio) {
		tracks += s.size
	}
	for _, t := range p.Texts {
		size, err := p.put(ctx, textName(t)+textEnding, t.Content)
		if err != nil {
			return made, err
		}
		tracks += size
	}
	made.Size = tracks
	if p.HLS {
		made.HLS = tracks
		for _, f := range p.playlists() {
			size, err := p.put(ctx, f.name, f.content)
			if err != nil {
				return made, err
			}
			made.HLS += size
		}
		made.Size += made.HLS - tracks
	}
	if p.DASH {
		content, err := p.mpd()
		if err != nil {
			return made, err
		}
		size, err := p.put(ctx, DASHName, content)
		if err != nil {
			return made, err
		}
		made.DASH = tracks + size
		made.Size += size
	}
	return made, nil
}
