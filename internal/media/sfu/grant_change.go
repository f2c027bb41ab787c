package sfu

import "reflect"

// Apply applies a participant's new grant: tracks that are no longer permitted end at once, and the
// members are notified. A participant that may not stay is muted at once, and its connection is closed
// with a bye. A grant of a participant that isn't here is ignored.
func (s *Server) Apply(g Grant) {
	r := s.room(g.RoomID)
	if r == nil {
		return
	}
	r.box.post(func() {
		m := r.members[g.UserID]
		if m == nil {
			return
		}
		bye := g.Gone
		if bye == "" && g.ConnID != "" && g.ConnID != m.p.connID {
			bye = CodeReplaced
		}
		switch {
		case bye != "":
			for _, t := range r.tracks {
				if t.owner == m.p {
					t.fwd.SetSilenced(true)
				}
			}
			m.p.end(&ClientError{Code: bye})
			r.leave(m.p, bye)
		case m.grant.waits():
			if !g.waits() {
				r.admit(m, g)
			}
			r.airBy(g, false)
		default:
			r.learn(g, false)
			r.airBy(g, false)
			r.change(m, g)
		}
	})
}

// change applies a member's new grant: tracks that are no longer permitted end before the change is
// announced.
func (r *room) change(m *member, g Grant) {
	if sameForClients(m.grant, g) {
		return
	}
	old := m.grant
	for id, t := range r.tracks {
		if t.owner != m.p {
			continue
		}
		if !g.Perms.may(t.source) {
			r.unpublish(id)
			continue
		}
		t.fwd.SetPrivileged(g.moderates())
	}
	r.count(m, -1)
	m.grant = g
	r.count(m, 1)
	r.settleAll(m)
	if r.cast != nil && r.cast.owner == m.p && g.Role != roleHost {
		m.p.fail(nil, codeOffAir, "off air: only hosts broadcast")
		r.cast.end()
	}
	r.place(m)
	r.recording.see(m)
	delete(r.moderators, g.UserID)
	if g.moderates() {
		r.moderators[g.UserID] = m
	}
	m.p.box.post(func() { m.p.setGrant(g) })
	r.announceMember(m)
	m.p.send(encode(participantMessage{typeParticipant, m.wire()}))
	if g.moderates() && !old.moderates() {
		for _, other := range r.members {
			if other != m && other.shown {
				m.p.send(encode(participantMessage{typeParticipant, other.wire()}))
			}
		}
	}
}

// sameForClients reports whether nothing has changed that clients are sent.
func sameForClients(a, b Grant) bool {
	return a.DisplayName == b.DisplayName && a.Role == b.Role && a.Perms == b.Perms && a.State == b.State &&
		a.Muted == b.Muted && a.Silenced == b.Silenced && a.HandRaised == b.HandRaised
}

// learn stores the session of a grant's room, starts or ends the room's recording and dictation, and announces the values that have
// changed.
// joins: the grant is that of a new member. It may be older than one that was applied, so it ends neither.
func (r *room) learn(g Grant, joins bool) {
	if id := g.Room.RecordingID; id != nil && (*id != "" || !joins) {
		r.follow(*id)
	}
	changed := map[string]any{}
	for key, value := range g.Room.Session {
		if old, known := r.session[key]; !known || !reflect.DeepEqual(old, value) {
			changed[key] = value
		}
	}
	if len(changed) > 0 {
		r.session = g.Room.Session
		r.recording.arranged()
		r.sendAll(encode(sessionMessage{typeSession, changed}), nil)
	}
	if !joins || len(r.members) == 0 {
		r.listen()
	}
}

// admit lets a waiting member in.
func (r *room) admit(m *member, g Grant) {
	m.grant = g
	m.p.box.post(func() { m.p.setGrant(g) })
	r.enter(m, false)
}
