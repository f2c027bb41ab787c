package realtime

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/centrifugal/centrifuge"

	"showfloor/internal/base/problem"
)

const (
	// rounds is the number of parts into which the periodic check of all connections
	// is divided. The parts run at different times, to spread the database queries.
	rounds = 20
	// askTime bounds one call of the gate.
	askTime = 5 * time.Second
	// lastWords is how long after a session's end its last publication may arrive.
	// Then clients that have not received it are unsubscribed too.
	lastWords = 5 * time.Second
	// maxPerGateCall is the maximum number of participants per call of the gate.
	maxPerGateCall = 1000
)

// patrol checks every connection once per CheckEvery until the server stops, and
// disconnects clients whose credential is no longer valid. RoomChanged handles
// changes of rooms at once; patrol covers everything else and lost notifications.
// Without connections it doesn't wake up: on an idle server its ticks would cost as
// much as all other timers of ours.
func (s *Server) patrol() {
	ticker := time.NewTicker(max(s.config.CheckEvery/rounds, time.Millisecond))
	defer ticker.Stop()
	for round := uint64(0); ; round = (round + 1) % rounds {
		if s.conns.empty() {
			select {
			case <-s.conns.begun:
			case <-s.ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
			s.look(s.ctx, func(key string) bool { return maphash.String(s.roomSeed, key)%rounds == round })
		case <-s.ctx.Done():
			return
		}
	}
}

// look asks the gate about the connections of each room or token that is due.
func (s *Server) look(ctx context.Context, due func(key string) bool) {
	rooms, tokens := s.conns.all()
	for room, conns := range rooms {
		if due(room) {
			s.lookAtParticipants(ctx, room, conns)
		}
	}
	for token, conns := range tokens {
		if due(token) {
			s.lookAtToken(ctx, token, conns)
		}
	}
}

// Missed checks every connection, because notifications of changes may have been
// lost.
func (s *Server) Missed(ctx context.Context) {
	s.look(ctx, func(string) bool { return true })
}

// RoomChanged checks a participant's connections, or all participants' in the room
// when userID is empty.
func (s *Server) RoomChanged(ctx context.Context, room, userID string) {
	if conns := s.conns.inRoom(room, userID); len(conns) > 0 {
		s.lookAtParticipants(ctx, room, conns)
	}
}

// HolderChanged checks the connections of a tenant's user, API key or impersonating admin; see Identity.Holder. It doesn't wait for the
// check.
func (s *Server) HolderChanged(tenantID, id string) {
	tokens := s.conns.ofHolder(holder{tenantID: tenantID, id: id})
	if len(tokens) == 0 {
		return
	}
	s.spawn(func() {
		for token, conns := range tokens {
			s.lookAtToken(s.ctx, token, conns)
		}
	})
}

// lookAtToken checks whether a tenant's credential is still valid.
func (s *Server) lookAtToken(ctx context.Context, token string, conns []*conn) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	who, err := s.gate.Authenticate(ctx, token, "")
	p, refused := problem.As(err)
	if !refused || p.Kind == problem.Unavailable || p.Kind == problem.RateLimited {
		if err != nil {
			s.note("look at a credential", err)
			return
		}
		for _, c := range conns {
			if who.Rooms != c.who.Rooms || who.Events != c.who.Events { // a user's role was changed
				c.client.Disconnect(centrifuge.DisconnectForceReconnect)
				continue
			}
			if !who.Impersonated {
				continue
			}
			if p, refused := problem.As(c.visitor.MayImpersonate(ctx)); refused && p.Kind == problem.Forbidden {
				c.client.Disconnect(ending(p)) // the admins' networks were changed
			}
		}
		return
	}
	for _, c := range conns {
		c.client.Disconnect(ending(p))
	}
}

// lookAtParticipants asks for the states of participants of one room, and
// applies them to their connections.
func (s *Server) lookAtParticipants(ctx context.Context, room string, conns []*conn) {
	for len(conns) > 0 {
		some := conns[:min(len(conns), maxPerGateCall)]
		conns = conns[len(some):]
		users := make([]string, 0, len(some))
		asked := map[string]bool{}
		for _, c := range some {
			if !asked[c.who.UserID] {
				asked[c.who.UserID] = true
				users = append(users, c.who.UserID)
			}
		}
		participants, err := s.ask(ctx, some[0].who.TenantID, room, users)
		if err != nil {
			s.note("look at participants", err)
			return
		}
		for _, c := range some {
			s.apply(c, participants[c.who.UserID])
		}
	}
}

func (s *Server) ask(ctx context.Context, tenantID, room string, users []string) (map[string]Participant, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.gate.Participants(ctx, tenantID, room, users)
}

// apply restricts a participant's connection to what its participant may do.
func (s *Server) apply(c *conn, st Participant) {
	before := c.getParticipant()
	c.setParticipant(st)
	if d, out := st.out(); out {
		c.client.Disconnect(d)
		return
	}
	if !c.who.ExpiresAt.IsZero() && !c.who.ExpiresAt.After(s.config.Now()) {
		c.client.Disconnect(centrifuge.DisconnectExpired)
		return
	}
	channel := channelPrefix + c.who.Room
	switch {
	case st.State == Waiting:
		if c.client.IsSubscribed(channel) {
			s.spawn(func() { c.client.Unsubscribe(channel, unsubscription(codeRoomWaiting, "waiting to be admitted")) })
		}
	case st.State == Ended && before.State != Ended:
		s.spawn(func() { s.endLater(c, channel) })
	}
}

// endLater unsubscribes a client from a room that is over, if the room's last
// publication didn't.
func (s *Server) endLater(c *conn, channel string) {
	select {
	case <-time.After(lastWords):
		if c.client.IsSubscribed(channel) {
			s.unsubscribeEnded(c, channel)
		}
	case <-c.client.Context().Done():
	case <-s.ctx.Done():
	}
}

// endRoom unsubscribes a room's participants. The last publication is in their
// queues already.
func (s *Server) endRoom(room string) {
	for _, c := range s.conns.inRoom(room, "") {
		s.unsubscribeEnded(c, channelPrefix+room)
	}
}

func (s *Server) unsubscribeEnded(c *conn, channel string) {
	c.setParticipant(Participant{State: Ended})
	c.client.Unsubscribe(channel, unsubscription(codeRoomEnded, "the session has ended"))
}
