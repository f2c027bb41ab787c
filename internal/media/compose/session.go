package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"showfloor/internal/media/trackfile"
)

// ErrNothing means that a recording has no media and no length.
var ErrNothing = errors.New("nothing was recorded")

const (
	// leastLength is the shortest recording.
	leastLength = 100 * time.Millisecond
	// maxTracks bounds the tracks of a recording that have packets. Further ones are left out.
	maxTracks = 1000
	// toTheEnd is after the arrival of all packets.
	toTheEnd = time.Duration(math.MaxInt64)
)

// session is what is known of a recording between two calls. Its files are read once, from where the call before ended.
//
// Each byte is read twice. observe measures the clocks, with all that is there. place then writes the pictures up to a time with the
// estimate of that moment. The estimates are kept, and stored beside the pieces: sound is placed at the end, a packet by the estimate
// that was used for the pictures that arrived with it. So pictures and sound of one sender are as close to each other as with a single
// estimate for all, also after a restart. A later estimate doesn't move earlier sound: if the network's route has changed since, it can
// be wrong by more than 45 ms for earlier times.
type session struct {
	dir, folder, layout string
	pieceLength         time.Duration
	refuse              func() error // by the disk; nil for never

	inputs []*input          // those that have packets
	byPath map[string]*input // all that are read
	base   int64             // a second of the senders' clocks, which keeps the precision of the numbers; 0 before the first report
	length time.Duration     // up to the last packet or event

	line    int64 // offset in the timeline
	pending []trackfile.Event
	names   map[string]string // by user
	planner *planner

	estimates []estimate
	unsaved   int // index of the first estimate that isn't stored with a piece
	pieces    []*piece

	leftTracks int
}

// input is a track file.
type input struct {
	path string
	info trackfile.Info
	from time.Duration // arrival of the first packet
	to   time.Duration // and of the last
	seen bool          // there is a packet

	observed int64 // offset up to which the clock is measured
	clock    *observer

	placer
	placed   int64 // offset up to which pictures are written
	order    reorderer
	pictures *assembler // nil for sound, and for codecs that can't be decoded
	writer   *pictureWriter
}

// placer places the packets of a track, in the order of arrival.
type placer struct {
	mapping mapping
	stage   int // index of the estimate in use
	using   bool
}

// estimate is what was known of the clocks when the packets up to an arrival were placed.
type estimate struct {
	Until  time.Duration        `json:"until"`
	Base   int64                `json:"base"`
	Tracks map[string][]placing `json:"tracks"`
}

func newSession(j *Job, pieceLength time.Duration) (*session, error) {
	s := &session{
		dir: j.Dir, folder: j.Folder, layout: layoutOf(j.Layout), pieceLength: pieceLength, refuse: j.Refuse,
		byPath: map[string]*input{}, names: map[string]string{},
	}
	s.planner = newPlanner(s.layout, area{w: Width, h: Height})
	var err error
	if s.pieces, err = loadPieces(s.folder, s.layout); err != nil {
		return nil, err
	}
	for _, p := range s.pieces {
		for _, e := range p.Estimates {
			if n := len(s.estimates); n == 0 || e.Until > s.estimates[n-1].Until {
				s.estimates = append(s.estimates, e)
				s.base = cmp.Or(s.base, e.Base)
			}
		}
	}
	s.unsaved = len(s.estimates)
	return s, nil
}

// layoutOf returns the name of a layout; that of the grid for an unknown one.
func layoutOf(name string) string {
	switch name {
	case "", Composite:
		return Composite
	case Speaker, Sidebar:
		return name
	}
	return Grid
}

// done returns the time up to which pictures are composed.
func (s *session) done() time.Duration { return time.Duration(len(s.pieces)) * s.pieceLength }

// observe reads what was written since the last call.
func (s *session) observe(ctx context.Context) error {
	events, line, err := trackfile.TimelineFrom(s.dir, s.line)
	if err != nil {
		return err
	}
	s.line = line
	for i := range events {
		e := &events[i]
		s.length = max(s.length, e.At)
		if e.Kind == trackfile.Joined {
			s.names[e.UserID] = cmp.Or(e.Name, s.names[e.UserID])
		}
	}
	s.pending = append(s.pending, events...)
	slices.SortStableFunc(s.pending, func(a, b trackfile.Event) int { return cmp.Compare(a.At, b.At) })
	paths, err := trackfile.Tracks(s.dir)
	if err != nil {
		return err
	}
	s.leftTracks = 0
	for _, path := range paths {
		left, err := s.observeTrack(ctx, path)
		if err != nil && !errors.Is(err, trackfile.ErrEmpty) {
			return err
		}
		if left {
			s.leftTracks++
		}
	}
	return nil
}

// observeTrack reads what was written of a track since the last call. left: it has packets and isn't shown.
func (s *session) observeTrack(ctx context.Context, path string) (left bool, err error) {
	in := s.byPath[path]
	if in == nil {
		in = &input{path: path, clock: &observer{}}
	}
	if !in.seen && len(s.inputs) >= maxTracks {
		_, err := in.read(ctx, in.observed, func(p *trackfile.Packet, _ *trackfile.Report) bool {
			left = p != nil
			return !left
		})
		return left, err
	}
	known := in.seen
	if err := in.observe(ctx, &s.base); err != nil {
		return false, err
	}
	if in.seen && !known {
		s.byPath[path] = in // a track without packets is read again, and takes no memory
		s.add(in)
	}
	s.length = max(s.length, in.to)
	return in.seen && in.info.Video() && in.pictures == nil, nil
}

// add adds a track that has its first packet.
func (s *session) add(in *input) {
	if f, known := formatOf(in.info.MimeType); known {
		in.pictures = newAssembler(f)
		in.writer = &pictureWriter{
			folder: s.folder, name: fmt.Sprint("p", len(s.inputs)), trackID: in.info.ID, fourCC: f.fourCC,
			screen: in.info.Source == "screen", refuse: s.refuse,
		}
	}
	s.inputs = append(s.inputs, in)
}

// observe measures the clock of a track with what was written since the last call.
func (in *input) observe(ctx context.Context, base *int64) error {
	to, err := in.read(ctx, in.observed, func(p *trackfile.Packet, r *trackfile.Report) bool {
		if r != nil {
			*base = cmp.Or(*base, int64(r.NTP>>32))
			in.clock.report(r.Arrived, r.NTP, *base, r.Timestamp)
			return true
		}
		if !in.seen {
			in.seen, in.from = true, p.Arrived
		}
		in.to = max(in.to, p.Arrived)
		in.clock.packet(p.Arrived, p.Timestamp)
		return true
	})
	in.observed = to
	return err
}

// read reads a track file from an offset, until each returns false. each gets a packet or a report. It returns the offset after the
// last record for which each has returned true.
func (in *input) read(ctx context.Context, from int64, each func(*trackfile.Packet, *trackfile.Report) bool) (int64, error) {
	r, err := trackfile.OpenAt(in.path, from)
	if err != nil {
		return from, err
	}
	defer r.Close()
	in.info = r.Info
	in.clock.rate = float64(max(r.Info.ClockRate, 1000))
	for n := 0; ; n++ {
		at := r.Offset()
		p, x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err == nil && n%1000 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return from, fmt.Errorf("read a track: %w", err)
		}
		if !each(p, x) {
			return at, nil
		}
	}
}

// estimate estimates the clocks for packets that arrive up to a time.
func (s *session) estimate(until time.Duration) estimate {
	e := estimate{Until: until, Base: s.base, Tracks: map[string][]placing{}}
	since := time.Duration(-1)
	if n := len(s.estimates); n > 0 {
		since = s.estimates[n-1].Until
	}
	groups := map[string][]*input{}
	for _, in := range s.inputs {
		if in.seen {
			groups[in.info.Clock] = append(groups[in.info.Clock], in)
		}
	}
	for _, group := range groups {
		if !slices.ContainsFunc(group, func(in *input) bool { return in.to > since }) {
			continue // they have ended
		}
		clocks := make([]*observer, len(group))
		for i, in := range group {
			clocks[i] = in.clock
		}
		for i, m := range synchronize(clocks) {
			if in := group[i]; in.to > since && in.from <= until {
				e.Tracks[in.info.ID] = m.placings()
			}
		}
	}
	return e
}

// at returns the time of a packet of a track, by the estimate for its arrival.
func (s *session) at(in *input, x *placer, p *trackfile.Packet) time.Duration {
	for x.stage+1 < len(s.estimates) && p.Arrived > s.estimates[x.stage].Until {
		x.stage++
		x.using = false
	}
	if !x.using {
		x.using = true
		if x.mapping.rate = in.clock.rate; !x.mapping.begun { // or timestamps that wrap at once are unwrapped to others
			x.mapping.begun, x.mapping.last = true, in.clock.first
		}
		if list := s.estimates[x.stage].Tracks[in.info.ID]; len(list) > 0 {
			x.mapping.restore(list, in.clock, s.estimates[x.stage].Until)
		} else if len(x.mapping.epochs) == 0 { // a damaged file
			x.mapping.epochs = []epoch{{tick: 1 / in.clock.rate}}
		}
	}
	return max(x.mapping.place(p.Arrived, p.Timestamp), 0)
}

// place writes the pictures that arrive up to a time to segments.
func (s *session) place(ctx context.Context, until time.Duration) error {
	if n := len(s.estimates); n == 0 || s.estimates[n-1].Until < until {
		s.estimates = append(s.estimates, s.estimate(until))
	}
	for _, in := range s.inputs {
		if in.pictures == nil {
			continue
		}
		in.writer.done = s.done()
		push := func(x *placed) { in.pictures.push(x, in.writer.write) }
		to, err := in.read(ctx, in.placed, func(p *trackfile.Packet, _ *trackfile.Report) bool {
			if p == nil {
				return true
			}
			if p.Arrived > until {
				return false
			}
			in.order.push(p, s.at(in, &in.placer, p), push)
			return in.writer.err == nil
		})
		in.placed = to
		if until == toTheEnd {
			in.order.flush(push)
		}
		if flushErr := in.writer.flush(); err == nil {
			err = flushErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// arrange takes the events up to a time.
func (s *session) arrange(until time.Duration) {
	n := 0
	for n < len(s.pending) && s.pending[n].At <= until {
		s.planner.add(&s.pending[n])
		n++
	}
	s.pending = slices.Delete(s.pending, 0, n)
	s.planner.settle(until)
}

// segments returns the segments of each track.
func (s *session) segments() map[string][]*segment {
	list := map[string][]*segment{}
	for _, in := range s.inputs {
		if in.writer != nil {
			list[in.info.ID] = in.writer.list
		}
	}
	return list
}

// prune removes what is composed.
func (s *session) prune() {
	s.planner.forget(s.done())
	for _, in := range s.inputs {
		if in.writer != nil {
			in.writer.prune(s.done())
		}
	}
}

// counts returns the lost packets and the pictures that were left out of all pictures' tracks.
func (s *session) counts() (lost, left uint64) {
	for _, in := range s.inputs {
		if in.pictures != nil {
			lost, left = lost+in.order.missing, left+in.pictures.left
		}
	}
	return lost, left
}

// sounds returns the tracks of sound that have packets, by their begin.
func (s *session) sounds() (list []*input) {
	for _, in := range s.inputs {
		if in.seen && strings.EqualFold(in.info.MimeType, "audio/opus") {
			list = append(list, in)
		}
	}
	slices.SortStableFunc(list, func(a, b *input) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.path, b.path)) })
	return list
}
