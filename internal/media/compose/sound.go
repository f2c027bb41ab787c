package compose

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"showfloor/internal/media/trackfile"
)

const (
	// maxVoices bounds the participants with a file of their own.
	maxVoices = 100
	// maxOwnLanes bounds the microphones that a participant has at the same time, on several devices.
	maxOwnLanes = 4
)

// sound is that of a recording, in lanes.
type sound struct {
	lanes  []*lane
	people []*voice
	lost   uint64 // packets
	left   int    // tracks for which no lane was free

	folder string
	byUser map[string]*voice
	// without has the participants for whom there is no voice.
	without map[string]bool
}

// voice is the sound of one participant.
type voice struct {
	userID, name string
	lanes        []*lane
}

// voices writes the sound of a recording to lanes; with Job.Separate, also that of each participant to lanes of its own.
func (s *session) voices(ctx context.Context, j *Job) (*sound, error) {
	v := &sound{folder: s.folder, byUser: map[string]*voice{}, without: map[string]bool{}}
	defer v.close()
	for _, in := range s.sounds() {
		var lanes []*lane
		l, err := acquire(&v.lanes, maxLanes, filepath.Join(s.folder, "mix"), in)
		if err != nil {
			return nil, err
		}
		if l == nil {
			v.left++
		} else {
			lanes = append(lanes, l)
		}
		if j.Separate {
			if l, err = v.own(in); err != nil {
				return nil, err
			}
			if l != nil {
				lanes = append(lanes, l)
			}
		}
		if err := s.voice(ctx, v, in, lanes); err != nil {
			return nil, err
		}
		if err := j.refused(); err != nil {
			return nil, err
		}
	}
	return v, v.finish(s)
}

// own returns a lane for a track among those of its participant; nil for none.
func (v *sound) own(in *input) (*lane, error) {
	if in.info.Source == "screen-audio" {
		return nil, nil
	}
	p := v.byUser[in.info.UserID]
	if p == nil {
		if len(v.people) >= maxVoices {
			v.without[in.info.UserID] = true
			return nil, nil
		}
		p = &voice{in.info.UserID, fmt.Sprintf("own%d", len(v.people)), nil}
		v.byUser[p.userID], v.people = p, append(v.people, p)
	}
	return acquire(&p.lanes, maxOwnLanes, filepath.Join(v.folder, p.name), in)
}

// acquire returns a lane that is free when a track begins; nil if there are too many.
func acquire(lanes *[]*lane, most int, name string, in *input) (*lane, error) {
	// The times of a track may be before the arrival of its first packet, by the delay of the network.
	i := slices.IndexFunc(*lanes, func(l *lane) bool { return l.until+time.Second < in.from })
	if i < 0 {
		if len(*lanes) >= most {
			return nil, nil
		}
		l, err := newLane(fmt.Sprintf("%s-%d.ogg", name, len(*lanes)))
		if err != nil {
			return nil, err
		}
		i, *lanes = len(*lanes), append(*lanes, l)
	}
	l := (*lanes)[i]
	l.until = in.to
	return l, nil
}

// voice writes a track to lanes.
func (s *session) voice(ctx context.Context, v *sound, in *input, lanes []*lane) error {
	var order reorderer
	var place placer
	pass := func(p *placed) {
		for _, l := range lanes {
			l.add(p.Payload, p.at)
		}
	}
	_, err := in.read(ctx, 0, func(p *trackfile.Packet, _ *trackfile.Report) bool {
		if p != nil {
			order.push(p, min(s.at(in, &place, p), s.length), pass)
		}
		return true
	})
	order.flush(pass)
	v.lost += order.missing
	return err
}

// finish fills the first lanes up to the end, and closes all. It drops the participants without a valid frame.
func (v *sound) finish(s *session) error {
	if len(v.lanes) == 0 {
		l, err := newLane(filepath.Join(s.folder, "mix-0.ogg"))
		if err != nil {
			return err
		}
		v.lanes = append(v.lanes, l)
	}
	end := int64(s.length) * soundRate / int64(time.Second)
	v.lanes[0].fill(end)
	for _, p := range v.people {
		p.lanes[0].fill(end)
	}
	err := v.close()
	v.people = slices.DeleteFunc(v.people, func(p *voice) bool {
		return !slices.ContainsFunc(p.lanes, func(l *lane) bool { return l.heard })
	})
	return err
}

// close closes all lanes.
func (v *sound) close() error {
	var errs []error
	for _, l := range v.lanes {
		errs = append(errs, l.finish())
	}
	for _, p := range v.people {
		for _, l := range p.lanes {
			errs = append(errs, l.finish())
		}
	}
	return errors.Join(errs...)
}
