package compose

import (
	"cmp"
	"slices"
	"time"

	"showfloor/internal/media/trackfile"
)

// Layouts of a recording. Composite follows the layout of the session.
const (
	Grid      = "grid"
	Speaker   = "speaker"
	Sidebar   = "sidebar"
	Composite = "composite"
	// spotlight is a layout of sessions: only the large participant is shown.
	spotlight = "spotlight"
)

const (
	// maxGrid and maxSmall bound the tiles of a grid, and the small ones beside a large one.
	maxGrid, maxSmall = 25, 6
	// holdSpeaker is the time for which a new speaker must speak before the picture changes: a cough doesn't change it.
	holdSpeaker = 1500 * time.Millisecond
	// shortest is the shortest interval. Changes in it are shown together at its end.
	shortest = 200 * time.Millisecond
)

// tile is a place in the picture for a participant.
type tile struct {
	userID, name string
	trackID      string // of its pictures; empty for none
	screen       bool
	since        time.Duration // when the track began, or was turned on again
	area         area
}

// area is a rectangle, in pixels. All values are even.
type area struct{ x, y, w, h int }

// interval is a time in which the arrangement of the tiles is constant.
type interval struct {
	from, to time.Duration
	tiles    []tile
}

// person is a participant with a tile.
type person struct {
	id, name string
	order    int           // of joining
	spoke    time.Duration // when it last began to speak; -1 for never
}

// shownTrack is a video track that is on.
type shownTrack struct {
	id, userID string
	screen     bool
	order      int
	muted      bool
	since      time.Duration
}

// scene is the state of the room at a time.
type scene struct {
	people    map[string]*person
	tracks    map[string]*shownTrack
	count     int
	layout    string // of the session
	spotlight string
	speaker   string // the one that is shown
	next      string // the one that speaks now
	since     time.Duration
}

// planner divides a recording into intervals, without gaps. Events come by time.
type planner struct {
	scene  *scene
	layout string
	size   area
	list   []interval
}

func newPlanner(layout string, size area) *planner {
	return &planner{
		scene: &scene{people: map[string]*person{}, tracks: map[string]*shownTrack{}, layout: Grid}, layout: layout, size: size,
	}
}

// add takes an event. Afterwards, the intervals that end shortest before it are final.
func (p *planner) add(e *trackfile.Event) {
	p.settle(e.At)
	p.scene.apply(e)
	p.put(e.At)
}

// settle takes the time up to which all events were added.
func (p *planner) settle(at time.Duration) {
	if p.scene.settle(at) {
		p.put(p.scene.since + holdSpeaker)
	}
}

// put notes the tiles from a time on.
func (p *planner) put(at time.Duration) {
	tiles := p.scene.arrange(p.layout, p.size)
	n := len(p.list)
	switch {
	case n > 0 && slices.Equal(p.list[n-1].tiles, tiles):
	case n > 0 && at-p.list[n-1].from < shortest:
		p.list[n-1].tiles = tiles
	default:
		if n > 0 {
			p.list[n-1].to = at
		}
		p.list = append(p.list, interval{from: at, tiles: tiles})
	}
}

// between returns the intervals from a time to another one. Before the first event, its tiles are shown.
func (p *planner) between(from, to time.Duration) (list []interval) {
	for n, i := range p.list {
		if n == 0 {
			i.from = 0
		}
		if n == len(p.list)-1 {
			i.to = to
		}
		i.from, i.to = max(i.from, from), min(i.to, to)
		if i.from < i.to {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return []interval{{from: from, to: to}}
	}
	return list
}

// forget drops intervals that end before a time.
func (p *planner) forget(until time.Duration) {
	n := 0
	for n+1 < len(p.list) && p.list[n].to <= until {
		n++
	}
	p.list = slices.Delete(p.list, 0, n)
}

// settle shows the current speaker if it has spoken for long enough at a time, and reports whether that changed.
func (s *scene) settle(at time.Duration) bool {
	if s.next == "" || s.next == s.speaker || at-s.since < holdSpeaker {
		return false
	}
	s.speaker = s.next
	return true
}

// apply changes the scene by an event.
func (s *scene) apply(e *trackfile.Event) {
	switch e.Kind {
	case trackfile.Joined:
		if p := s.people[e.UserID]; p != nil {
			p.name = cmp.Or(e.Name, p.name)
			return
		}
		s.count++
		s.people[e.UserID] = &person{id: e.UserID, name: e.Name, order: s.count, spoke: -1}
	case trackfile.Left:
		delete(s.people, e.UserID)
	case trackfile.Published:
		if e.Source == "camera" || e.Source == "screen" {
			s.count++
			s.tracks[e.TrackID] = &shownTrack{id: e.TrackID, userID: e.UserID, screen: e.Source == "screen", order: s.count, since: e.At}
		}
	case trackfile.Ended:
		delete(s.tracks, e.TrackID)
	case trackfile.Muted, trackfile.Unmuted:
		if t := s.tracks[e.TrackID]; t != nil {
			t.muted, t.since = e.Kind == trackfile.Muted, e.At
		}
	case trackfile.Spoke:
		s.speaks(e)
	case trackfile.Arranged:
		s.layout, s.spotlight = cmp.Or(e.Layout, s.layout), e.UserID
	}
}

// speaks notes the loudest speaker. In a silence, the last one stays.
func (s *scene) speaks(e *trackfile.Event) {
	for _, id := range e.Users {
		if p := s.people[id]; p != nil {
			p.spoke = e.At
		}
	}
	if len(e.Users) == 0 {
		s.next = s.speaker
		return
	}
	if e.Users[0] == s.next {
		return
	}
	s.next, s.since = e.Users[0], e.At
}

// arrange returns the tiles. A shared screen is large in each layout.
func (s *scene) arrange(layout string, size area) []tile {
	if layout == Composite || layout == "" {
		layout = s.layout
	}
	people, screens := s.cameras(), s.screens()
	switch {
	case len(screens) > 0:
		if layout == spotlight {
			return []tile{withArea(screens[0], size)}
		}
		return beside(screens[0], s.first(people, maxSmall), size)
	case len(people) == 0:
		return nil
	case layout == Speaker || layout == Sidebar || layout == spotlight:
		i := s.large(people, layout)
		large := people[i]
		others := s.first(slices.Delete(people, i, i+1), maxSmall)
		switch layout {
		case spotlight:
			return []tile{withArea(large, size)}
		case Speaker:
			return above(large, others, size)
		}
		return beside(large, others, size)
	}
	return inGrid(s.first(people, maxGrid), size)
}

// cameras returns the tiles of all people, in the order in which they joined.
func (s *scene) cameras() []tile {
	people := make([]*person, 0, len(s.people))
	for _, p := range s.people {
		people = append(people, p)
	}
	slices.SortFunc(people, func(a, b *person) int { return cmp.Compare(a.order, b.order) })
	on := map[string]*shownTrack{}
	for _, t := range s.tracks {
		if !t.screen && !t.muted && (on[t.userID] == nil || on[t.userID].order < t.order) {
			on[t.userID] = t
		}
	}
	list := make([]tile, 0, len(people))
	for _, p := range people {
		x := tile{userID: p.id, name: p.name}
		if t := on[p.id]; t != nil {
			x.trackID, x.since = t.id, t.since
		}
		list = append(list, x)
	}
	return list
}

// screens returns the shared screens, the newest first.
func (s *scene) screens() (list []tile) {
	var tracks []*shownTrack
	for _, t := range s.tracks {
		if t.screen && !t.muted {
			tracks = append(tracks, t)
		}
	}
	slices.SortFunc(tracks, func(a, b *shownTrack) int { return cmp.Compare(b.order, a.order) })
	for _, t := range tracks {
		x := tile{userID: t.userID, trackID: t.id, screen: true, since: t.since}
		if p := s.people[t.userID]; p != nil {
			x.name = p.name
		}
		list = append(list, x)
	}
	return list
}

// large returns the index of the large person: the spotlighted one, otherwise the speaker, otherwise the first with a camera.
// Sidebar doesn't follow the speaker.
func (s *scene) large(people []tile, layout string) int {
	find := func(id string) int {
		return slices.IndexFunc(people, func(t tile) bool { return id != "" && t.userID == id })
	}
	if i := find(s.spotlight); i >= 0 {
		return i
	}
	if i := find(s.speaker); i >= 0 && layout != Sidebar {
		return i
	}
	return max(slices.IndexFunc(people, func(t tile) bool { return t.trackID != "" }), 0)
}

// first returns n people at most, in their order. People with a camera are chosen before others, and then the latest speakers.
func (s *scene) first(people []tile, n int) []tile {
	if len(people) <= n {
		return people
	}
	ranked := slices.Clone(people)
	spoke := func(t tile) time.Duration {
		if p := s.people[t.userID]; p != nil {
			return p.spoke
		}
		return -1
	}
	slices.SortStableFunc(ranked, func(a, b tile) int {
		if (a.trackID == "") != (b.trackID == "") {
			return cmp.Compare(min(len(b.trackID), 1), min(len(a.trackID), 1))
		}
		return cmp.Compare(spoke(b), spoke(a))
	})
	chosen := map[string]bool{}
	for _, t := range ranked[:n] {
		chosen[t.userID] = true
	}
	return slices.DeleteFunc(slices.Clone(people), func(t tile) bool { return !chosen[t.userID] })
}
