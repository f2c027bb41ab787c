package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"showfloor/internal/media/recordfile"
	"showfloor/internal/media/segmenter"
)

const (
	// maxSegment ends a segment of a stream with an extreme bitrate before its time, in bytes.
	maxSegment = 256 << 20
	// spareSegments is how many segments a take may have beyond one per second of its media. Segments of less than 4 s come
	// only from changed settings, a clock that jumps, and interruptions.
	spareSegments = 120
	// maxInits bounds the initialization sections of a take. An encoder that returns to the same settings needs no other.
	maxInits = 1000
)

// writer is the segmenter's sink: it writes parts to the spool's files as they come. After an error it ignores what follows.
type writer struct {
	take *take
	cut  *segmenter.Segmenter
	err  error

	config *segmenter.Configuration
	init   initNote
	inits  int
	// initFiles are the files of the newest initialization section: video and audio.
	initFiles [2][]byte
	number    int           // of the newest segment
	spent     time.Duration // a second for each segment, minus the duration of all; 0 at least
	open      *openSegment
	buffer    []byte
}

// openSegment is the segment that is being written. A file is nil while its track has no media.
type openSegment struct {
	spooled

	video, audio           *os.File
	videoTicks, audioTicks int64
}

var _ segmenter.Sink = (*writer)(nil)

//nolint:ireturn // as segmenter.Config.NextRun wants it
func (w *writer) nextRun() segmenter.Sink { return w }

// Longest implements segmenter.Sink.
func (w *writer) Longest() time.Duration { return longestSegment }

// Overfull implements segmenter.Sink.
func (w *writer) Overfull() bool {
	return w.open != nil && w.open.VideoBytes+w.open.AudioBytes > maxSegment
}

// RaisePartTarget implements segmenter.Sink.
func (w *writer) RaisePartTarget(time.Duration) {}

// Begin implements segmenter.Sink.
func (w *writer) Begin(c *segmenter.Configuration, discontinuity bool, wall time.Time) {
	if w.err != nil {
		return
	}
	if w.spent += time.Second; w.spent > spareSegments*time.Second {
		w.err = errUnsteady
	} else if w.number == w.take.recorder.config.MaxSegments {
		w.err = errLongest
	} else if w.config != c {
		w.err = w.beginInit(c)
	}
	if w.err != nil {
		return
	}
	w.number++
	w.open = &openSegment{spooled: spooled{init: w.init, Segment: Segment{
		Number: w.number, Init: w.init.Number, Discontinuity: discontinuity && w.number > 1, StartedAt: wall,
	}}}
	w.err = w.take.dir.noteSegment(&w.open.Segment, false)
}

// beginInit writes the files of a configuration, unless they are those of the one before.
func (w *writer) beginInit(c *segmenter.Configuration) error {
	video, err := c.VideoInit()
	if err != nil {
		return err
	}
	audio, err := c.AudioInit()
	if err != nil {
		return err
	}
	w.config = c
	if w.inits > 0 && bytes.Equal(video, w.initFiles[0]) && bytes.Equal(audio, w.initFiles[1]) {
		return nil
	}
	if w.inits == maxInits {
		return errUnsteady
	}
	w.initFiles = [2][]byte{video, audio}
	w.inits++
	w.init = initNote{AudioRate: segmenter.AudioRate(c.Audio), Init: Init{
		Number: w.inits, Codecs: c.Codecs, VideoBytes: int64(len(video)), AudioBytes: int64(len(audio)),
	}}
	if c.Video != nil {
		w.init.Width, w.init.Height = c.Video.Width, c.Video.Height
		if d := w.cut.PictureTime(); d > 0 {
			w.init.FrameRate = float64(time.Second) / float64(d)
		}
		if err := w.take.dir.write(recordfile.InitOfTake(w.inits, recordfile.Video), video); err != nil {
			return err
		}
	}
	if err := w.take.dir.write(recordfile.InitOfTake(w.inits, recordfile.Audio), audio); err != nil {
		return err
	}
	return w.take.dir.writeNote("init"+strconv.Itoa(w.inits)+".json", w.init)
}

// Add implements segmenter.Sink.
func (w *writer) Add(p segmenter.Part) {
	for i := range p.Tracks {
		if w.err != nil || w.open == nil {
			return
		}
		w.buffer = p.AppendTrack(w.buffer[:0], i)
		w.err = w.append(&p.Tracks[i], w.buffer)
	}
	w.open.Duration += p.Duration
	w.checkSpool()
}

// append writes a fragment to its track's file.
func (w *writer) append(track *segmenter.TrackSamples, fragment []byte) error {
	s := w.open
	file, name, size, sum := &s.audio, recordfile.SegmentOfTake(s.Number, recordfile.Audio), &s.AudioBytes, &s.audioTicks
	if track.Video() {
		file, name, size, sum = &s.video, recordfile.SegmentOfTake(s.Number, recordfile.Video), &s.VideoBytes, &s.videoTicks
	}
	if *file == nil {
		f, err := os.OpenFile(w.take.dir.file(name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fileMode)
		if err != nil {
			return fmt.Errorf("make a segment's file: %w", err)
		}
		*file = f
	}
	if _, err := (*file).Write(fragment); err != nil {
		// A torn fragment at the end would make the rest of the file unreadable for some players.
		_ = (*file).Truncate(*size) // if that fails too, the next start repairs the file
		return fmt.Errorf("write a segment: %w", err)
	}
	*size += int64(len(fragment))
	*sum += track.Ticks()
	w.take.recorder.account(int64(len(fragment)))
	return nil
}

// checkSpool ends the take when the disk is almost full, or the spool is full and the take exceeds its share of it.
func (w *writer) checkSpool() {
	if w.err != nil {
		return
	}
	if err := w.take.recorder.config.Refuse(); err != nil {
		w.err = errors.Join(errNoSpace, err)
	} else if w.take.recorder.exceeds(w.take.backlog() + w.open.VideoBytes + w.open.AudioBytes) {
		w.err = errors.Join(errBacklog, w.take.lastFault())
	}
}

// backlog is the size of the segments that wait for the storage, in bytes.
func (t *take) backlog() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(0)
	for i := range t.ready {
		n += t.ready[i].VideoBytes + t.ready[i].AudioBytes
	}
	return n
}

// End implements segmenter.Sink.
func (w *writer) End() {
	s := w.open
	if s == nil {
		return
	}
	w.open = nil
	w.spent = max(w.spent-s.Duration, 0)
	if err := s.close(); err != nil && w.err == nil {
		w.err = err
	}
	s.Video = ticksToTime(s.videoTicks, segmenter.VideoRate)
	s.Audio = ticksToTime(s.audioTicks, s.init.AudioRate)
	if s.VideoBytes+s.AudioBytes > 0 {
		// Without the sizes in its note, the next start takes the segment for one that was being written.
		_ = w.take.dir.noteSegment(&s.Segment, true)
		w.take.add(s.spooled)
	}
}

// DropRemnant implements segmenter.Sink.
func (w *writer) DropRemnant() {
	const remnant = 250 * time.Millisecond
	s := w.open
	if s == nil || s.Duration >= remnant || s.Number == 1 {
		return
	}
	w.open = nil
	_ = s.close() // the files are deleted
	w.take.recorder.account(-s.VideoBytes - s.AudioBytes)
	w.take.dir.removeSegment(s.Number)
}

// close completes the open segment after an error, with the fragments that were written whole.
func (w *writer) close() { w.End() }

func (s *openSegment) close() error {
	var errs []error
	for _, f := range []*os.File{s.video, s.audio} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// ticksToTime converts ticks of a time scale to a time.
func ticksToTime(ticks int64, rate int) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(ticks/int64(rate))*time.Second + time.Duration(ticks%int64(rate))*time.Second/time.Duration(rate)
}
