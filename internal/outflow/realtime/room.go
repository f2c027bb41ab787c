package realtime

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/centrifugal/centrifuge"

	"showfloor/internal/base/problem"
)

// bigRoom is the number of a room's subscribers on a node from which join and
// leave messages and the member list stop. Otherwise each member would receive a
// message for each other one.
const bigRoom = 500

// isID reports whether a text may be an id of ours. Other texts need no query.
func isID(text string) bool {
	const longest = 64
	return text != "" && len(text) <= longest && strings.IndexFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_'
	}) < 0
}

// subscribe answers a client that subscribes to a room.
func (s *Server) subscribe(c *conn, e centrifuge.SubscribeEvent, answer centrifuge.SubscribeCallback) {
	if tenantID, ok := strings.CutPrefix(e.Channel, tenantPrefix); ok {
		answer(subscribeToEvents(c, tenantID))
		return
	}
	room, ok := strings.CutPrefix(e.Channel, channelPrefix)
	if !ok || room == "" {
		answer(centrifuge.SubscribeReply{}, centrifuge.ErrorUnknownChannel)
		return
	}
	st, err := s.maySubscribe(c, room)
	if err != nil {
		answer(centrifuge.SubscribeReply{}, err)
		return
	}
	options := centrifuge.SubscribeOptions{EnablePositioning: true, EnableRecovery: true, HistoryMetaTTL: historyMetaTime}
	if c.who.participant() {
		options.EmitPresence = true
		options.ChannelInfo = info(c.who.UserID, st)
	}
	if s.engine.Load().node.Hub().NumSubscribers(e.Channel) < bigRoom {
		options.PushJoinLeave, options.EmitJoinLeave = e.JoinLeave, c.who.participant()
	}
	answer(centrifuge.SubscribeReply{Options: options}, nil)
	if st.State == Ended {
		// The client received what it had missed, and nothing will follow.
		s.spawn(func() { c.client.Unsubscribe(e.Channel, unsubscription(codeRoomEnded, "the session has ended")) })
	}
}

// maySubscribe reports whether the connection may subscribe to a room. Its errors are
// the protocol's. The error for another tenant's room is the same as for one that
// doesn't exist.
func (s *Server) maySubscribe(c *conn, room string) (Participant, error) {
	if !isID(room) {
		return Participant{}, centrifuge.ErrorPermissionDenied
	}
	ctx := c.client.Context()
	if !c.who.participant() {
		if !c.who.Rooms {
			return Participant{}, centrifuge.ErrorPermissionDenied
		}
		err := s.gate.Admit(ctx, c.who, room)
		if _, refused := problem.As(err); refused {
			return Participant{}, centrifuge.ErrorPermissionDenied
		}
		if err != nil {
			s.note("subscribe", err)
			return Participant{}, centrifuge.ErrorInternal
		}
		return Participant{State: Inside}, nil
	}
	if room != c.who.Room {
		return Participant{}, centrifuge.ErrorPermissionDenied
	}
	st, err := s.participant(ctx, c.who)
	if err != nil {
		s.note("subscribe", err)
		return Participant{}, centrifuge.ErrorInternal
	}
	c.setParticipant(st)
	if d, out := st.out(); out {
		return st, d
	}
	if st.State == Waiting {
		return st, errWaiting()
	}
	return st, nil
}

// subscribeToEvents answers a client that subscribes to the events of a tenant. Only the tenant's own credentials may. The error for
// another tenant is the same as for one that doesn't exist.
func subscribeToEvents(c *conn, tenantID string) (centrifuge.SubscribeReply, error) {
	if c.who.participant() || !c.who.Events || tenantID != c.who.TenantID {
		return centrifuge.SubscribeReply{}, centrifuge.ErrorPermissionDenied
	}
	return centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{
		EnablePositioning: true, EnableRecovery: true, HistoryMetaTTL: historyMetaTime,
	}}, nil
}

// member is a participant as presence, join and leave show it.
type member struct {
	UserID      string `json:"userId"`
	DisplayName string `json:"displayName"`
	Role        string `json:"role"`
}

func info(userID string, st Participant) []byte {
	raw, err := json.Marshal(member{userID, st.DisplayName, st.Role})
	if err != nil {
		return nil // three strings always encode
	}
	return raw
}

// mayAsk reports whether a client may query a room: it must be subscribed.
func mayAsk(c *conn, channel string) error {
	if !c.client.IsSubscribed(channel) {
		return centrifuge.ErrorPermissionDenied
	}
	return nil
}

// presence lists the participants in a room with their current names and roles.
func (s *Server) presence(c *conn, channel string) (centrifuge.PresenceReply, error) {
	if err := mayAsk(c, channel); err != nil {
		return centrifuge.PresenceReply{}, err
	}
	if strings.HasPrefix(channel, tenantPrefix) {
		return centrifuge.PresenceReply{Result: &centrifuge.PresenceResult{}}, nil
	}
	e := s.engine.Load()
	stats, err := e.node.PresenceStats(channel)
	if err != nil {
		s.note("presence", err)
		return centrifuge.PresenceReply{}, centrifuge.ErrorInternal
	}
	if stats.NumClients > bigRoom {
		return centrifuge.PresenceReply{}, clientError(centrifuge.ErrorLimitExceeded, "too many to list; ask for the presence stats")
	}
	found, err := e.node.Presence(channel)
	if err != nil {
		s.note("presence", err)
		return centrifuge.PresenceReply{}, centrifuge.ErrorInternal
	}
	list := s.refreshInfos(c, strings.TrimPrefix(channel, channelPrefix), found.Presence)
	return centrifuge.PresenceReply{Result: &centrifuge.PresenceResult{Presence: list}}, nil
}

// refreshInfos returns a copy of the list with current names and roles. The list
// has those from when each participant subscribed.
func (s *Server) refreshInfos(c *conn, room string, list map[string]*centrifuge.ClientInfo) map[string]*centrifuge.ClientInfo {
	users := make(map[string]bool, len(list))
	for _, one := range list {
		users[one.UserID] = true
	}
	ids := make([]string, 0, len(users))
	for id := range users {
		ids = append(ids, id)
	}
	participants, err := s.gate.Participants(c.client.Context(), c.who.TenantID, room, ids)
	if err != nil {
		s.note("presence", err)
		return list
	}
	fresh := make(map[string]*centrifuge.ClientInfo, len(list))
	for client, one := range list {
		now := *one
		if st, ok := participants[one.UserID]; ok {
			now.ChanInfo = info(one.UserID, st)
		}
		fresh[client] = &now
	}
	return fresh
}

// said is a message that a client publishes.
type said struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// pinTime is the deadline of one pin.
const pinTime = 10 * time.Second

// publish handles the messages that clients may publish, and refuses all others
// with a reason.
func (s *Server) publish(c *conn, e centrifuge.PublishEvent) error {
	if err := mayAsk(c, e.Channel); err != nil {
		return err
	}
	if c.who.ReadOnly || strings.HasPrefix(e.Channel, tenantPrefix) {
		return clientError(centrifuge.ErrorPermissionDenied, "this connection can only read here")
	}
	if c.publications.take(time.Now(), 1) == 0 {
		return centrifuge.ErrorTooManyRequests
	}
	var m said
	if json.Unmarshal(e.Data, &m) != nil {
		return clientError(centrifuge.ErrorBadRequest, `publish JSON with "type" and "data"`)
	}
	switch m.Type {
	case Heart:
		return s.takeHearts(c, strings.TrimPrefix(e.Channel, channelPrefix), m.Data)
	case ProductPin:
		return s.takePin(c, m.Data)
	default:
		return clientError(centrifuge.ErrorPermissionDenied,
			"clients publish heart and prod-pin only; the rest goes through the operations of the API")
	}
}

// takeHearts counts hearts; those above the connection's rate limit are discarded.
func (s *Server) takeHearts(c *conn, room string, data json.RawMessage) error {
	var h heartData
	if json.Unmarshal(data, &h) != nil || h.Count < 1 || h.Count > maxHearts {
		return clientError(centrifuge.ErrorBadRequest, "data.count must be from 1 to 1000000")
	}
	if n := c.hearts.take(time.Now(), h.Count); n > 0 {
		s.hearts.add(room, n)
	}
	return nil
}

// takePin pins a product, if the client is the room's host.
func (s *Server) takePin(c *conn, data json.RawMessage) error {
	var pin struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(data, &pin) != nil || !isID(pin.ID) {
		return clientError(centrifuge.ErrorBadRequest, "data.id must be a product's id")
	}
	if !c.who.participant() {
		return clientError(centrifuge.ErrorPermissionDenied, "only the host of the room may do this")
	}
	ctx, cancel := context.WithTimeout(c.client.Context(), pinTime)
	defer cancel()
	err := s.gate.Pin(ctx, c.who, pin.ID)
	p, refused := problem.As(err)
	switch {
	case err == nil:
		return nil
	case !refused:
		s.note("pin", err)
		return centrifuge.ErrorInternal
	case p.Kind == problem.Forbidden || p.Kind == problem.Unauthenticated:
		return clientError(centrifuge.ErrorPermissionDenied, p.Message)
	default:
		return clientError(centrifuge.ErrorBadRequest, p.Message)
	}
}
