package realtime

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/centrifugal/centrifuge"

	"showfloor/internal/problem"
)

const (
	// rounds is in how many parts all connections are looked at again, each part
	// at its own time, so that the database isn't asked for all at once.
	rounds = 20
	// askTime bounds one question to the gate.
	askTime = 5 * time.Second
	// lastWords is how long after a session's end its last publication may come: then
	// those who have not heard it are unsubscribed all the same.
	lastWords = 5 * time.Second
	// askAtOnce is of how many participants the gate is asked at once.
	askAtOnce = 1000
)

// patrol looks at every connection again each CheckEvery, until the server
// stops: whose credential is no longer good is disconnected. What changes in
// rooms comes by itself (RoomChanged); this is for the rest, and for what was lost.
func (s *Server) patrol() {
	ticker := time.NewTicker(max(s.config.CheckEvery/rounds, time.Millisecond))
	defer ticker.Stop()
	for round := uint64(0); ; round = (round + 1) % rounds {
		select {
		case <-ticker.C:
			s.look(s.ctx, func(key string) bool { return maphash.String(s.roomSeed, key)%rounds == round })
		case <-s.ctx.Done():
			return
		}
	}
}

// look asks the gate about the connections whose room or token is due.
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

// Missed looks at every connection: there may have been changes of which nobody
// heard.
func (s *Server) Missed(ctx context.Context) {
	s.look(ctx, func(string) bool { return true })
}

// RoomChanged looks at a participant's connections, or at everybody's in the
// room when userID is empty.
func (s *Server) RoomChanged(ctx context.Context, room, userID string) {
	if conns := s.conns.inRoom(room, userID); len(conns) > 0 {
		s.lookAtParticipants(ctx, room, conns)
	}
}

// lookAtToken asks whether a tenant's credential is still good.
func (s *Server) lookAtToken(ctx context.Context, token string, conns []*conn) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err := s.gate.Authenticate(ctx, token, "")
	p, refused := problem.As(err)
	if !refused || p.Kind == problem.Unavailable || p.Kind == problem.RateLimited {
		if err != nil {
			s.note("look at a credential", err)
		}
		return
	}
	for _, c := range conns {
		c.client.Disconnect(ending(p))
	}
}

// lookAtParticipants asks how participants of one room stand, and lets their
// connections do what that allows.
func (s *Server) lookAtParticipants(ctx context.Context, room string, conns []*conn) {
	for len(conns) > 0 {
		some := conns[:min(len(conns), askAtOnce)]
		conns = conns[len(some):]
		users := make([]string, 0, len(some))
		asked := map[string]bool{}
		for _, c := range some {
			if !asked[c.who.UserID] {
				asked[c.who.UserID] = true
				users = append(users, c.who.UserID)
			}
		}
		standings, err := s.ask(ctx, some[0].who.TenantID, room, users)
		if err != nil {
			s.note("look at participants", err)
			return
		}
		for _, c := range some {
			s.apply(c, standings[c.who.UserID])
		}
	}
}

func (s *Server) ask(ctx context.Context, tenantID, room string, users []string) (map[string]Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.gate.Standings(ctx, tenantID, room, users)
}

// apply lets a participant's connection do what its standing allows.
func (s *Server) apply(c *conn, st Standing) {
	before := c.getStanding()
	c.setStanding(st)
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

// endLater unsubscribes from a room that is over, if its last publication didn't.
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

// endRoom unsubscribes a room's participants, whose last publication is in their
// queues.
func (s *Server) endRoom(room string) {
	for _, c := range s.conns.inRoom(room, "") {
		s.unsubscribeEnded(c, channelPrefix+room)
	}
}

func (s *Server) unsubscribeEnded(c *conn, channel string) {
	c.setStanding(Standing{State: Ended})
	c.client.Unsubscribe(channel, unsubscription(codeRoomEnded, "the session has ended"))
}
