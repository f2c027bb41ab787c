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

// tickEvery is the interval of a room's periodic work.
const tickEvery = 250 * time.Millisecond

// audienceEvery is the number of ticks between two announcements of the size of the audience.
const audienceEvery = 4

// maxShown is how many members of the audience moderators see individually.
const maxShown = 1000

// room holds the members and tracks of a room. Only its goroutine touches the fields from ears on.
// The server's lock guards peers.
type room struct {
	server   *Server
	tenantID string
	id       string
	kind     string
	// peers counts connections, under the server's lock. When there are none, ended is closed; done
	// is closed when the room has ended.
	peers       int
	ended, done chan struct{}
	box         *mailbox

	// ears selects the speakers.
	ears *forward.Speakers

	session    map[string]any
	members    map[string]*member
	moderators map[string]*member
	tracks     map[string]*track
	// account measures the room's usage.
	account *metering.Account
	// inside is the number of members, without those in the waiting room.
	inside int
	// audience is how many of them can't publish, lastAudience the number that was announced last, and
	// shown how many of them moderators see.
	audience, lastAudience, shown int
	ticks                         int
	// spoke holds the speakers that were announced last.
	spoke []speaker
	// guestData and moderatorData are the budgets of data messages, in bytes summed over all
	// recipients. Guests can't use up the budget of hosts and cohosts.
	guestData, moderatorData *rate.Limiter
	// budgets are those of guests who left, by user id, until they are full again.
	budgets map[string]*rate.Limiter
	// publications and changes are rate limits, by user, of announcements: of new tracks, and of
	// new states of tracks. They are safe for concurrent use. A new connection of the user gets no
	// new budget.
	publications, changes *limiter[string]

	// In a stream's room only: the stream of the hub that is shown, the number of viewers that was
	// reported to the stream, and (cast) a host's broadcast.
	screening *screening
	reported  int
	// lacks are the reasons why kinds of the stream's media can't be shown here; reason is the one
	// that was announced.
	lacks  map[string]*bridge.Reason
	reason *bridge.Reason
	cast   *cast

	// recording writes the room's tracks; nil for none. recorded has the ids of all recordings so far.
	recording *recording
	recorded  map[string]bool
	// dictation passes the microphones on to the speech recognition; nil for none.
	dictation *dictation
	// program is what the room broadcasts; nil for none. aired has the ids of broadcasts that have ended.
	program *program
	aired   map[string]bool
}

// member is a participant in a room.
type member struct {
	p     *peer
	grant Grant
	// announced: all members are informed of it until it leaves; shown: only moderators are.
	announced, shown bool
	// muting counts mutes by the member itself that the gate has not stored yet.
	muting int
	// data is this member's share of the guests' budget for data messages. A user who comes back
	// gets the rest of the old share, see budget.
	data *rate.Limiter
	// replaced counts the ticks since its connection was replaced by a new one, which may be about
	// to join here; 0 when it wasn't.
	replaced int
}

// awaited is the number of ticks to wait for a replacement connection before "left" is announced.
const awaited = 12

func newRoom(s *Server, g Grant) *room {
	return &room{
		server: s, tenantID: g.TenantID, id: g.RoomID, kind: g.Room.Kind,
		ended: make(chan struct{}), done: make(chan struct{}), box: newMailbox(),
		ears: forward.NewSpeakers(forward.SpeakersConfig{Now: s.config.Now}), session: g.Room.Session,
		members: map[string]*member{}, moderators: map[string]*member{}, tracks: map[string]*track{},
		lacks:     map[string]*bridge.Reason{},
		recorded:  map[string]bool{},
		aired:     map[string]bool{},
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
			r.work(r.endRecording)
			r.work(r.endDictation)
			r.work(r.endProgram)
			r.account.Close()
			return
		}
	}
}

// work calls f; a panic in it ends that call, not the room.
func (r *room) work(f func()) {
	defer r.server.recovered("a room")
	f()
}

func (r *room) users() []string { return slices.Collect(maps.Keys(r.members)) }

// join adds a peer, in place of an older connection of the same user.
func (r *room) join(p *peer, g Grant) {
	m := &member{p: p, grant: g, data: r.budget(g.UserID)}
	old := r.members[g.UserID]
	if old != nil {
		m.data = old.data
		old.p.end(&ClientError{Code: CodeReplaced})
		r.unpublishAll(old)
		r.count(old, -1)
		m.announced, m.shown = old.announced, old.shown
	}
	r.enter(m, old != nil)
}

// enter adds a member to the room and announces it. again: it replaces another connection of its
// user.
func (r *room) enter(m *member, again bool) {
	r.learn(m.grant, true)
	r.members[m.grant.UserID] = m
	delete(r.moderators, m.grant.UserID)
	r.count(m, 1)
	if m.grant.moderates() && !m.grant.waits() {
		r.moderators[m.grant.UserID] = m
	}
	r.airBy(m.grant, true)
	known := m.announced
	r.place(m)
	r.recording.see(m)
	r.welcome(m, false)
	if !again || known != m.announced {
		r.announceMember(m)
	}
	if !m.grant.waits() {
		for _, t := range r.tracks {
			m.p.box.post(func() { m.p.subscribe(t) })
		}
	}
}

// leave removes a peer, unless another connection has taken its place.
func (r *room) leave(p *peer, reason string) {
	m := r.members[p.connection.UserID]
	if m == nil || m.p != p {
		return
	}
	r.unpublishAll(m)
	if reason == CodeReplaced {
		// The gate may have reported the new connection before that joins here.
		m.replaced = max(m.replaced, 1)
		return
	}
	r.remove(m, reason)
}

// remove removes a member.
func (r *room) remove(m *member, reason string) {
	delete(r.members, m.grant.UserID)
	delete(r.moderators, m.grant.UserID)
	r.keepBudget(m)
	r.recording.left(m.grant.UserID)
	r.count(m, -1)
	if r.inside == 0 {
		r.endProgram() // it goes on with the next member
	}
	data := encode(leftMessage{typeLeft, m.grant.UserID, reason})
	switch {
	case m.announced:
		r.sendAll(data, nil)
	case m.shown:
		r.shown--
		r.sendModerators(data, nil)
	}
}

// endAll sends a bye to all members.
func (r *room) endAll(refusal *ClientError) {
	for _, m := range r.members {
		m.p.end(refusal)
	}
}

// publish adds a track to the room, if its publisher is permitted to publish it. This check is
// final: no other goroutine changes permissions.
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
	r.recording.take(t)
	r.addMicrophone(t)
}

// unpublish ends a track for all members.
func (r *room) unpublish(id string) {
	t := r.tracks[id]
	if t == nil {
		return
	}
	t.fwd.Close()
	delete(r.tracks, id)
	r.recording.lose(t)
	r.removeMicrophone(id)
	r.program.lose(t)
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

// mute mutes a participant's own track, or undoes that. unmutes means that a moderator's mute is
// being undone too.
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

// silences reports whether a track of the member is muted: by its user, who muted the track or the
// microphone, or by a moderator, who mutes all audio of a participant.
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
	r.recording.muted(t)
	r.announceTrack(t)
	if r.cast != nil && r.cast.owner == t.owner {
		r.cast.reportMuted()
	}
}

// sized stores the picture size of a layer.
func (r *room) sized(t *track, layer, width, height int) {
	if layer >= len(t.layers) || t.layers[layer] == (wireLayer{width, height}) {
		return
	}
	t.layers[layer] = wireLayer{width, height}
	t.changed = true
}

// announceTrack announces the state of a changed track, if its publisher's budget allows it now.
// Otherwise a later tick announces the state that the track has then.
func (r *room) announceTrack(t *track) {
	if t.owner == nil || r.changes.allow(t.userID) {
		t.changed = false
		r.sendAll(encode(trackMessage{typeTrack, t.wire()}), nil)
	}
}

// announceTracks announces the tracks that have changed. Changes of picture sizes are announced only
// here, since a publisher may change them with each picture.
func (r *room) announceTracks() {
	for _, t := range r.tracks {
		if t.changed {
			r.announceTrack(t)
		}
	}
}

// muteSelf mutes a microphone that its user has muted, before that is stored; pending means that
// the store is in progress.
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

// settleAll applies a member's grant to its tracks.
func (r *room) settleAll(m *member) {
	for _, t := range r.tracks {
		if t.owner == m.p {
			r.settle(m, t)
		}
	}
}
