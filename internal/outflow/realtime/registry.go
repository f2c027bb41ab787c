package realtime

import (
	"maps"
	"slices"
	"sync"

	"github.com/centrifugal/centrifuge"
)

// conn is an authenticated connection.
type conn struct {
	client  *centrifuge.Client
	visitor Visitor
	token   string
	who     Identity

	commands, publications, hearts *bucket

	mu          sync.Mutex
	participant Participant
}

func newConn(token string, who Identity, st Participant, visitor Visitor) *conn {
	return &conn{
		token: token, who: who, participant: st, visitor: visitor,
		commands:     newBucket(commandsPerSecond, commandsBurst),
		publications: newBucket(publicationsPerSecond, publicationsBurst),
		hearts:       newBucket(heartsPerSecond, heartsBurst),
	}
}

func (c *conn) setParticipant(st Participant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.participant = st
}

func (c *conn) getParticipant() Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.participant
}

// holder is the participant or tenant credential that opened the connection.
func (c *conn) holder() holder {
	return holder{c.who.TenantID, c.who.Room, c.who.UserID + c.who.Holder}
}

// holder is a participant in a room, or a tenant's user or API key; those have no
// room.
type holder struct{ tenantID, room, id string }

// registry indexes the connections by their holders.
type registry struct {
	mu      sync.RWMutex
	holders map[holder][]*conn
	// rooms holds participants' connections by room.
	rooms map[string]map[*conn]struct{}
	// begun receives a value when the first connection is added.
	begun chan struct{}
}

func newRegistry() *registry {
	return &registry{holders: map[holder][]*conn{}, rooms: map[string]map[*conn]struct{}{}, begun: make(chan struct{}, 1)}
}

// empty reports whether there are no connections.
func (r *registry) empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.holders) == 0
}

// add stores a connection. If its holder has too many, it returns the oldest.
func (r *registry) add(c *conn) (oldest *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.holders) == 0 {
		select {
		case r.begun <- struct{}{}:
		default:
		}
	}
	h := c.holder()
	list, limit := r.holders[h], connsPerHolder
	if c.who.participant() {
		limit = connsPerParticipant
		if r.rooms[h.room] == nil {
			r.rooms[h.room] = map[*conn]struct{}{}
		}
		r.rooms[h.room][c] = struct{}{}
	}
	r.holders[h] = append(list, c)
	if len(list) >= limit {
		return list[0]
	}
	return nil
}

func (r *registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := c.holder()
	list := slices.DeleteFunc(r.holders[h], func(other *conn) bool { return other == c })
	if r.holders[h] = list; len(list) == 0 {
		delete(r.holders, h)
	}
	if delete(r.rooms[h.room], c); len(r.rooms[h.room]) == 0 {
		delete(r.rooms, h.room)
	}
}

// inRoom lists the connections of a room's participants: one user's, or all when
// userID is empty.
func (r *registry) inRoom(room, userID string) []*conn {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var list []*conn
	for c := range r.rooms[room] {
		if userID == "" || c.who.UserID == userID {
			list = append(list, c)
		}
	}
	return list
}

// ofHolder lists the connections of a tenant's credential, grouped by its tokens.
func (r *registry) ofHolder(h holder) map[string][]*conn {
	r.mu.RLock()
	defer r.mu.RUnlock()
	tokens := map[string][]*conn{}
	for _, c := range r.holders[h] {
		tokens[c.token] = append(tokens[c.token], c)
	}
	return tokens
}

// all lists every connection, grouped by what one call of the gate checks:
// participants by room, others by token.
func (r *registry) all() (rooms, tokens map[string][]*conn) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	rooms, tokens = make(map[string][]*conn, len(r.rooms)), map[string][]*conn{}
	for room, conns := range r.rooms {
		rooms[room] = slices.Collect(maps.Keys(conns))
	}
	for h, conns := range r.holders {
		if h.room == "" {
			for _, c := range conns {
				tokens[c.token] = append(tokens[c.token], c)
			}
		}
	}
	return rooms, tokens
}
