package sfu

// count updates the number of members inside, and of the audience: those of them that can't
// publish.
func (r *room) count(m *member, delta int) {
	if m.grant.waits() {
		return
	}
	r.inside += delta
	if !m.grant.Perms.any() {
		r.audience += delta
	}
	r.measure()
}

// place decides which members are informed of m. A member that can publish is announced to all,
// from then on. One that can't, or waits, is shown to moderators only; of the audience, the first
// maxShown and all who have raised their hand. Watchers count in the audience only: they come and go
// with each change between WebRTC and HLS, and viewers by HLS aren't shown either.
func (r *room) place(m *member) {
	switch {
	case m.announced:
	case m.grant.Perms.any() && !m.grant.waits():
		m.announced = true
		if m.shown {
			m.shown = false
			r.shown--
		}
	case m.shown:
	case m.grant.waits() || m.grant.HandRaised || r.shown < maxShown && !m.p.watches:
		m.shown = true
		r.shown++
	}
}

// announceMember sends a member's state to the members that are informed of it.
func (r *room) announceMember(m *member) {
	data := encode(participantMessage{typeParticipant, m.wire()})
	if m.announced {
		r.sendAll(data, m)
	} else if m.shown {
		r.sendModerators(data, m)
	}
}

// sendAll sends a message to all members inside, except one.
func (r *room) sendAll(data []byte, except *member) {
	for _, m := range r.members {
		if m != except && !m.grant.waits() {
			m.p.send(data)
		}
	}
}

func (r *room) sendModerators(data []byte, except *member) {
	for _, m := range r.moderators {
		if m != except {
			m.p.send(data)
		}
	}
}

// welcome sends a member the state of the room.
func (r *room) welcome(m *member, resumed bool) {
	w := welcomeMessage{
		Type: typeWelcome, Room: r.id, Kind: r.kind, Self: m.wire(), Resume: m.p.resume, Resumed: resumed,
		ICEServers: r.server.relay.credentials(m.p.connID), Participants: []wireParticipant{}, Tracks: []wireTrack{},
	}
	if !m.grant.waits() {
		w.Session, w.Audience = r.sessionNow(), r.audience
		for _, other := range r.members {
			if other != m && (other.announced || other.shown && m.grant.moderates()) {
				w.Participants = append(w.Participants, other.wire())
			}
		}
		for _, t := range r.tracks {
			if t.owner != m.p || resumed {
				w.Tracks = append(w.Tracks, t.wire())
			}
		}
	}
	m.p.send(encode(w))
	if reason := r.reason; !m.grant.waits() {
		m.p.box.post(func() { m.p.fallback.lack(reason) })
	}
}

// rewelcome sends a peer that has resumed the current state.
func (r *room) rewelcome(p *peer) {
	if m := r.members[p.connection.UserID]; m != nil && m.p == p {
		r.welcome(m, true)
		p.box.post(p.sub.again)
	}
}

// wire returns the member in the form of the protocol.
func (m *member) wire() wireParticipant {
	g := m.grant
	return wireParticipant{
		UserID: g.UserID, DisplayName: g.DisplayName, Role: g.Role, Perms: g.Perms, State: g.State,
		Muted: g.Muted || m.muting > 0, HandRaised: g.HandRaised,
	}
}

// sweep removes replaced members whose new connection has not arrived in time.
func (r *room) sweep() {
	for _, m := range r.members {
		if m.replaced == 0 {
			continue
		}
		if m.replaced++; m.replaced > awaited {
			r.remove(m, CodeReplaced)
		}
	}
}

// tick does the room's periodic work.
func (r *room) tick() {
	r.ticks++
	r.showStream()
	r.sweep()
	r.dropBudgets()
	r.dropRecorded()
	r.announceSpeakers()
	r.program.arrange()
	r.announceTracks()
	r.renewPlayback()
	if r.ticks%audienceEvery == 0 && r.lastAudience != r.audience {
		r.lastAudience = r.audience
		r.sendAll(encode(audienceMessage{typeAudience, r.audience}), nil)
	}
}
