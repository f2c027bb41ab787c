package sfu

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"showfloor/internal/media/metering"
	"showfloor/internal/media/sfu/bridge"
	"showfloor/internal/media/sfu/forward"
)

// tickEvery is how often a room looks at what is told now and then only.
const tickEvery = 250 * time.Millisecond

// audienceEvery is how many ticks lie between two counts of the audience.
const audienceEvery = 4

// maxShown is how many of the audience moderators are told of one by one.
const maxShown = 1000

// room holds who is together. Its goroutine alone touches what is below box,
// except for peers.
type room struct {
	server   *Server
	tenantID string
	id       string
	kind     string
	// peers counts connections, under the server's lock; when there are none, ended
	// closes, and then done.
	peers       int
	ended, done chan struct{}
	box         *mailbox

	// ears hear who speaks.
	ears *forward.Speakers

	session    map[string]any
	members    map[string]*member
	moderators map[string]*member
	tracks     map[string]*track
	// account counts what the room uses.
	account *metering.Account
	// inside is how many are in the room, without those who wait to be let in.
	inside int
	// audience is how many of them can't publish, told what was said of it last; shown how
	// many of them moderators know.
	audience, told, shown int
	ticks                 int
	// spoke is who was last said to speak.
	spoke []speaker
	// guestData and moderatorData are the budgets of data messages, in bytes to all
	// recipients together. Guests can't use up what hosts and cohosts need.
	guestData, moderatorData *rate.Limiter
	// budgets are those of guests who left, by user id, until they are full again.
	budgets map[string]*rate.Limiter
	// publications and changes limit what a user makes the room announce: new tracks, and
	// other states of its tracks. They are safe for concurrent use, and a new connection of
	// the user has what is left.
	publications, changes *limiter[string]

	// Streams' rooms: what the hub has, shown here, to watching of the audience as the
	// stream was told; and what a host broadcasts.
	screening *screening
	watching  int
	// lacks says why a kind of the stream's media can't be shown here; reason is the one
	// of them that the members were told.
	lacks  map[string]*bridge.Reason
	reason *bridge.Reason
	cast   *cast
}

// member is somebody in a room.
type member struct {
	p     *peer
	grant Grant
	// announced: everybody knows of it, until it leaves; shown: moderators do.
	announced, shown bool
	// muting: it has muted itself, and the gate is being told.
	muting int
	// data is this member's share of the guests' budget for data messages. A user who comes
	// back gets the share that was left, see budget.
	data *rate.Limiter
	// replaced counts the ticks since its connection was, of a member whose new one
	// may be on its way in here.
	replaced int
}

// awaited is for how many ticks a new connection is waited for, before a member that
// was replaced is said to have left.
const awaited = 12

func newRoom(s *Server, g Grant) *room {
	return &room{
		server: s, tenantID: g.TenantID, id: g.RoomID, kind: g.Room.Kind,
		ended: make(chan struct{}), done: make(chan struct{}), box: newMailbox(),
		ears: forward.NewSpeakers(forward.SpeakersConfig{Now: s.config.Now}), session: g.Room.Session,
		members: map[string]*member{}, moderators: map[string]*member{}, tracks: map[string]*track{},
		lacks:     map[string]*bridge.Reason{},
		account:   s.config.Meter.Open(g.RoomID),
		guestData: newBudget(s.config.Limits.DataBytes), moderatorData: newBudget(s.config.Limits.DataBytes),
		budgets:      map[string]*rate.Limiter{},
		publications: newLimiter[string](s.config.Now, s.config.Limits.Publications, publicationBurst),
		changes:      newLimiter[string](s.config.Now, s.config.Limits.Publications, publicationBurst),
	}
}

func (r *room) run() {
	defer close(r.done)
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.box.wake:
			r.work(r.box.run)
		case <-ticker.C:
			r.work(r.tick)
		case <-r.ended:
			r.work(r.box.close)
			r.work(r.offAir)
			r.account.Close()
			return
		}
	}
}

// work does something; a fault in it costs that, not the room.
func (r *room) work(f func()) {
	defer r.server.recovered("a room")
	f()
}

func (r *room) users() []string { return slices.Collect(maps.Keys(r.members)) }

// join takes a peer in, in the place of an older connection of the same user.
func (r *room) join(p *peer, g Grant) {
	m := &member{p: p, grant: g, data: r.budget(g.UserID)}
	old := r.members[g.UserID]
	if old != nil {
		m.data = old.data
		old.p.end(&Refusal{Code: CodeReplaced})
		r.unpublishAll(old)
		r.count(old, -1)
		m.announced, m.shown = old.announced, old.shown
	}
	r.enter(m, old != nil)
}

// enter puts a member into the room and tells it and the others.
func (r *room) enter(m *member, again bool) {
	r.learn(m.grant)
	r.members[m.grant.UserID] = m
	delete(r.moderators, m.grant.UserID)
	r.count(m, 1)
	if m.grant.moderates() && !m.grant.waits() {
		r.moderators[m.grant.UserID] = m
	}
	known := m.announced
	r.place(m)
	r.welcome(m, false)
	if !again || known != m.announced {
		r.tell(m)
	}
	if !m.grant.waits() {
		for _, t := range r.tracks {
			m.p.box.post(func() { m.p.subscribe(t) })
		}
	}
}

// leave takes a peer out, unless another has its place.
func (r *room) leave(p *peer, reason string) {
	m := r.members[p.connection.UserID]
	if m == nil || m.p != p {
		return
	}
	r.unpublishAll(m)
	if reason == CodeReplaced {
		// The new connection may have been heard of before it is here.
		m.replaced = max(m.replaced, 1)
		return
	}
	r.remove(m, reason)
}

// remove takes a member out.
func (r *room) remove(m *member, reason string) {
	delete(r.members, m.grant.UserID)
	delete(r.moderators, m.grant.UserID)
	r.keepBudget(m)
	r.count(m, -1)
	data := encode(leftMessage{typeLeft, m.grant.UserID, reason})
	switch {
	case m.announced:
		r.tellAll(data, nil)
	case m.shown:
		r.shown--
		r.tellModerators(data, nil)
	}
}

// endAll says bye to everybody.
func (r *room) endAll(refusal *Refusal) {
	for _, m := range r.members {
		m.p.end(refusal)
	}
}

// publish makes a track heard and seen, if its publisher may. It is here that
// permissions are final: no other goroutine changes them.
func (r *room) publish(t *track) {
	m := r.members[t.userID]
	if m == nil || m.p != t.owner || m.grant.waits() || !m.grant.Perms.may(t.source) {
		t.fwd.Close()
		return
	}
	t.muted = m.silences(t)
	t.fwd.SetSilenced(t.muted)
	t.fwd.SetPrivileged(m.grant.moderates())
	r.add(t)
}

// add announces a track and subscribes all others to it.
func (r *room) add(t *track) {
	r.tracks[t.id] = t
	r.server.countTracks(1)
	data := encode(trackMessage{typeTrack, t.wire()})
	for _, m := range r.members {
		if m.grant.waits() || m.grant.UserID == t.userID {
			continue
		}
		m.p.send(data)
		m.p.box.post(func() { m.p.subscribe(t) })
	}
	r.broadcast(t)
}

// unpublish ends a track for all.
func (r *room) unpublish(id string) {
	t := r.tracks[id]
	if t == nil {
		return
	}
	t.fwd.Close()
	delete(r.tracks, id)
	r.server.countTracks(-1)
	data := encode(untrackMessage{typeUntrack, id})
	for _, m := range r.members {
		if m.grant.waits() {
			continue
		}
		m.p.send(data)
		m.p.box.post(func() { m.p.unsubscribe(id) })
	}
	if r.cast != nil && r.cast.owner == t.owner {
		r.cast.arrange()
	}
}

func (r *room) unpublishAll(m *member) {
	for id, t := range r.tracks {
		if t.owner == m.p {
			r.unpublish(id)
		}
	}
}

// mute silences a participant's own track, or undoes it. unmutes says that a moderator's
// mute is being undone too.
func (r *room) mute(p *peer, id string, muted, unmutes bool) {
	t, m := r.tracks[id], r.members[p.connection.UserID]
	if t == nil || m == nil || t.owner != p || t.source == sourceMicrophone {
		return
	}
	t.off = muted
	if !muted && !unmutes && m.silences(t) {
		p.fail(id, CodeForbidden, "a moderator muted you; unmute your microphone to be heard again")
	}
	r.settle(m, t)
}

// silences reports whether a track of the member is muted: by its user, who muted the
// track or the microphone, or by a moderator, who mutes every sound of a participant.
func (m *member) silences(t *track) bool {
	switch t.source {
	case sourceMicrophone:
		return m.grant.Muted || m.muting > 0
	case sourceScreenAudio:
		return t.off || m.grant.Silenced
	default:
		return t.off
	}
}

// settle announces whether a member's track is muted, if that has changed.
func (r *room) settle(m *member, t *track) {
	if muted := m.silences(t); t.muted != muted {
		r.silence(t, muted)
	}
}

func (r *room) silence(t *track, muted bool) {
	t.muted = muted
	t.fwd.SetSilenced(muted)
	t.changed = true
	r.tellChange(t)
	if r.cast != nil && r.cast.owner == t.owner {
		r.cast.tellOff()
	}
}

// sized notes how large a layer's picture is.
func (r *room) sized(t *track, layer, width, height int) {
	if layer >= len(t.layers) || t.layers[layer] == (wireLayer{width, height}) {
		return
	}
	t.layers[layer] = wireLayer{width, height}
	t.changed = true
}

// tellChange announces a track that has changed, if its publisher's budget allows it now.
// Otherwise a later tick does, with the state that the track has then.
func (r *room) tellChange(t *track) {
	if t.owner == nil || r.changes.allow(t.userID) {
		t.changed = false
		r.tellAll(encode(trackMessage{typeTrack, t.wire()}), nil)
	}
}

// tellChanges announces the tracks that have changed. The sizes of their pictures wait for
// this, since a publisher may change them with each picture.
func (r *room) tellChanges() {
	for _, t := range r.tracks {
		if t.changed {
			r.tellChange(t)
		}
	}
}

// muteSelf silences a microphone that its user has muted, before that is written
// down; pending tells that it is being written.
func (r *room) muteSelf(p *peer, pending bool) {
	m := r.members[p.connection.UserID]
	if m == nil || m.p != p {
		return
	}
	if pending {
		m.muting++
	} else {
		m.muting--
	}
	r.settleAll(m)
}

// settleAll brings a member's tracks in line with its grant.
func (r *room) settleAll(m *member) {
	for _, t := range r.tracks {
		if t.owner == m.p {
			r.settle(m, t)
		}
	}
}
