package realtime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// states holds the last publication of ShowUpdated in each room that reached this node. Nodes on one Redis see each other's, so that
// several nodes don't repeat the same one.
type states struct {
	mu    sync.Mutex
	rooms map[string]roomState
}

type roomState struct {
	data []byte
	at   time.Time
}

// stateOfShow begins a publication of ShowUpdated, as envelope writes it.
const stateOfShow = `{"type":"` + ShowUpdated + `"`

func (s *states) note(room string, data []byte, now time.Time) {
	if !bytes.HasPrefix(data, []byte(stateOfShow)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms == nil {
		s.rooms = map[string]roomState{}
	}
	s.rooms[room] = roomState{data, now}
}

// keepOnly forgets the other rooms.
func (s *states) keepOnly(rooms []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make(map[string]roomState, len(s.rooms))
	for _, room := range rooms {
		if last, ok := s.rooms[room]; ok {
			kept[room] = last
		}
	}
	s.rooms = kept
}

// ListRooms lists the rooms that have subscribers on this node.
func (s *Server) ListRooms() []string {
	e := s.engine.Load()
	if e == nil {
		return nil
	}
	var rooms []string
	for _, channel := range e.node.Hub().Channels() {
		if room, ok := strings.CutPrefix(channel, channelPrefix); ok {
			rooms = append(rooms, room)
		}
	}
	s.states.keepOnly(rooms)
	return rooms
}

// IsNews reports whether a publication of ShowUpdated differs from the last one in its room that reached this node, and that one is
// older than every.
func (s *Server) IsNews(p Publication, every time.Duration) (bool, error) {
	raw, err := json.Marshal(envelope{p.Type, p.Data})
	if err != nil {
		return false, fmt.Errorf("encode a publication: %w", err)
	}
	s.states.mu.Lock()
	defer s.states.mu.Unlock()
	last, ok := s.states.rooms[p.Room]
	return !ok || !bytes.Equal(last.data, raw) && s.config.Now().Sub(last.at) >= every, nil
}
