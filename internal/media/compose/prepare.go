package compose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"showfloor/internal/media/trackfile"
)

// material is what a recording is composed of.
type material struct {
	events   []trackfile.Event
	length   time.Duration
	segments map[string][]*segment // of pictures, by track
	lanes    []*lane

	lostPackets, leftPictures uint64
}

// input is a track file.
type input struct {
	path    string
	info    trackfile.Info
	clock   *observer
	mapping *mapping
	from    time.Duration // arrival of the first packet
	to      time.Duration // and of the last
}

// ErrNothing means that a recording has no media and no length.
var ErrNothing = errors.New("nothing was recorded")

// leastLength is the shortest recording.
const leastLength = 100 * time.Millisecond

// prepare reads the track files twice: to measure the clocks, and to write pictures and voices with their times into folder.
func prepare(ctx context.Context, dir, folder string) (*material, error) {
	events, err := trackfile.Timeline(dir)
	if err != nil {
		return nil, err
	}
	m := &material{events: events, length: trackfile.Length(events), segments: map[string][]*segment{}}
	inputs, err := observe(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		m.length = max(m.length, in.to)
	}
	if m.length < leastLength {
		return nil, ErrNothing
	}
	for n, in := range inputs {
		if in.info.Video() {
			err = m.pictures(ctx, in, folder, fmt.Sprint("p", n))
		} else {
			err = m.voice(ctx, in, folder)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, m.finish(folder)
}

// observe reads all tracks for the first time, and synchronizes those of each sender. The list is sorted by the tracks' begin.
func observe(ctx context.Context, dir string) ([]*input, error) {
	paths, err := trackfile.Tracks(dir)
	if err != nil {
		return nil, err
	}
	var list []*input
	byClock := map[string][]*input{}
	base := int64(0)
	for _, path := range paths {
		in := &input{path: path, clock: &observer{}}
		err := in.read(ctx, func(p *trackfile.Packet, r *trackfile.Report) {
			if r != nil {
				if base == 0 {
					base = int64(r.NTP >> 32)
				}
				in.clock.report(r.Arrived, r.NTP, base, r.Timestamp)
				return
			}
			if in.to == 0 {
				in.from = p.Arrived
			}
			in.to = max(in.to, p.Arrived)
			in.clock.packet(p.Arrived, p.Timestamp)
		})
		if errors.Is(err, trackfile.ErrEmpty) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if in.to == 0 {
			continue
		}
		list = append(list, in)
		byClock[in.info.Clock] = append(byClock[in.info.Clock], in)
	}
	for _, group := range byClock {
		clocks := make([]*observer, len(group))
		for i, in := range group {
			clocks[i] = in.clock
		}
		for i, m := range synchronize(clocks) {
			group[i].mapping, group[i].clock = m, nil
		}
	}
	slices.SortStableFunc(list, func(a, b *input) int { return cmp.Compare(a.from, b.from) })
	return list, nil
}

// read reads a track file. The function gets a packet or a report.
func (in *input) read(ctx context.Context, each func(*trackfile.Packet, *trackfile.Report)) error {
	r, err := trackfile.Open(in.path)
	if err != nil {
		return err
	}
	defer r.Close()
	in.info = r.Info
	if in.clock != nil {
		in.clock.rate = float64(max(r.Info.ClockRate, 1000))
	}
	for n := 0; ; n++ {
		p, x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && n%1000 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read a track: %w", err)
		}
		each(p, x)
	}
}

// ordered reads a track for the second time: its packets in their order, with their times.
func (m *material) ordered(ctx context.Context, in *input, pass func(*placed)) error {
	var r reorderer
	err := in.read(ctx, func(p *trackfile.Packet, _ *trackfile.Report) {
		if p != nil {
			at := min(max(in.mapping.place(p.Arrived, p.Timestamp), 0), m.length)
			r.push(p, at, pass)
		}
	})
	r.flush(pass)
	m.lostPackets += r.missing
	return err
}

// pictures writes the pictures of a track.
func (m *material) pictures(ctx context.Context, in *input, folder, name string) error {
	f, known := formatOf(in.info.MimeType)
	if !known {
		return nil
	}
	a := newAssembler(f)
	w := &pictureWriter{folder: folder, name: name, fourCC: f.fourCC, screen: in.info.Source == "screen"}
	err := m.ordered(ctx, in, func(p *placed) { a.push(p, w.write) })
	if closeErr := w.close(); err == nil {
		err = closeErr
	}
	m.leftPictures += a.left
	m.segments[in.info.ID] = w.list
	return err
}

// voice writes the sound of a track to a lane.
func (m *material) voice(ctx context.Context, in *input, folder string) error {
	if !strings.EqualFold(in.info.MimeType, "audio/opus") {
		return nil
	}
	// The times of a track may be before the arrival of its first packet, by the delay of the network.
	i := slices.IndexFunc(m.lanes, func(l *lane) bool { return l.until+time.Second < in.from })
	if i < 0 {
		if len(m.lanes) >= maxLanes {
			return nil
		}
		l, err := newLane(filepath.Join(folder, fmt.Sprintf("v%d.ogg", len(m.lanes))))
		if err != nil {
			return err
		}
		i, m.lanes = len(m.lanes), append(m.lanes, l)
	}
	l := m.lanes[i]
	l.until = in.to
	return m.ordered(ctx, in, func(p *placed) { l.add(p.Payload, p.at) })
}

// finish closes the lanes. The first one has sound up to the end.
func (m *material) finish(folder string) error {
	if len(m.lanes) == 0 {
		l, err := newLane(filepath.Join(folder, "v0.ogg"))
		if err != nil {
			return err
		}
		m.lanes = append(m.lanes, l)
	}
	m.lanes[0].fill(int64(m.length) * soundRate / int64(time.Second))
	var errs []error
	for _, l := range m.lanes {
		errs = append(errs, l.finish())
	}
	return errors.Join(errs...)
}

// discard removes the files of segments that aren't shown.
func discard(list []*segment) {
	for _, s := range list {
		if s.shownWidth == 0 {
			_ = os.Remove(s.path) // the folder is removed at the end anyway
		}
	}
}
