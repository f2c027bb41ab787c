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
	// left counts the tracks that no lane was free for, and leftPeople the participants without a voice.
	left       int
	leftPeople int
}

// voice is the sound of one participant.
type voice struct {
	userID string
	lanes  []*lane
}

// voices writes the sound of a recording to lanes; with Job.Separate, also that of each participant to lanes of its own.
func (s *session) voices(ctx context.Context, j *Job) (*sound, error) {
	v := &sound{}
	defer v.close()
	people, left := map[string]*voice{}, map[string]bool{}
	for _, in := range s.sounds() {
		var lanes []*lane
		l, err := acquire(&v.lanes, maxLanes, filepath.Join(s.folder, "mix"), in)
		if err != nil {
			return nil, err
		}
		if l != nil {
			lanes = append(lanes, l)
		} else {
			v.left++
		}
		if j.Separate && in.info.Source != "screen-audio" {
			own := people[in.info.UserID]
			switch {
			case own == nil && len(people) < maxVoices:
				own = &voice{userID: in.info.UserID}
				people[own.userID], v.people = own, append(v.people, own)
			case own == nil:
				left[in.info.UserID] = true
			}
			if own != nil {
				i := slices.Index(v.people, own)
				if l, err = acquire(&own.lanes, maxOwnLanes, filepath.Join(s.folder, fmt.Sprintf("own%d", i)), in); err != nil {
					return nil, err
				}
				if l != nil {
					lanes = append(lanes, l)
				}
			}
		}
		if err := s.voice(ctx, v, in, lanes); err != nil {
			return nil, err
		}
		if err := j.refused(); err != nil {
			return nil, err
		}
	}
	v.people = slices.DeleteFunc(v.people, func(p *voice) bool { return !slices.ContainsFunc(p.lanes, func(l *lane) bool { return l.heard }) })
	v.leftPeople = len(left)
	return v, v.finish(s)
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

// finish fills the first lanes up to the end, and closes all.
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
	return v.close()
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
