package sfu

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/sfu/forward"
)

// BroadcastInfo names the broadcast of a session's room into a stream.
type BroadcastInfo struct{ ID, StreamID string }

// Broadcasts puts rooms on air. Its methods may block; they are called apart from the rooms' work.
type Broadcasts interface {
	// Begin starts the composition of a room with a name. It returns early if ctx ends. A broadcast that can't begin is ended by its
	// owner, so the room doesn't try again.
	Begin(ctx context.Context, b BroadcastInfo, name string) (*compose.Live, error)
	// End is called once for each successful Begin.
	End(broadcastID string)
}

// program is what a room broadcasts: the picture of one participant, and the voices of all. The room's goroutine owns it.
type program struct {
	room   *room
	id     string
	cancel context.CancelFunc
	begun  chan struct{} // closed when live is set, or Begin has failed

	live   *compose.Live
	egress *forward.Egress
	voices map[string]*heard // by track
	choice choice
	shown  *forward.Sink
	ended  bool
}

// heard is a track of sound in a program.
type heard struct {
	sink  *forward.Sink
	voice *compose.LiveVoice
}

// maxAired bounds the ended broadcasts of a room that are remembered.
const maxAired = 1000

// airBy starts or ends the room's broadcast, as a grant says. joins: the grant is that of a new member. It may be older than one that was
// applied, so it ends no broadcast, and starts none that has ended. A broadcast needs a member that doesn't wait to be admitted.
func (r *room) airBy(g Grant, joins bool) {
	b := g.Room.Broadcast
	switch {
	case b == nil || joins && b.ID == "" || r.aired[b.ID] || r.server.config.Broadcasts == nil:
	case r.program != nil && r.program.id != b.ID:
		if joins {
			return
		}
		if len(r.aired) >= maxAired {
			clear(r.aired)
		}
		r.aired[r.program.id] = true
		r.endProgram()
		r.airBy(g, false)
	case r.program == nil && b.ID != "" && r.inside > 0:
		r.air(*b)
	}
}

// air starts a broadcast of the room.
func (r *room) air(b BroadcastInfo) {
	name, _ := r.session["name"].(string)
	ctx, cancel := context.WithCancel(context.Background())
	x := &program{room: r, id: b.ID, cancel: cancel, begun: make(chan struct{}), voices: map[string]*heard{}}
	r.program = x
	server := r.server
	server.wg.Go(func() {
		defer server.recovered("a broadcast")
		defer close(x.begun)
		live, err := server.config.Broadcasts.Begin(ctx, b, name)
		if err != nil {
			if ctx.Err() == nil {
				server.config.Log.Warn("sfu: a room could not be broadcast", "broadcast", b.ID, "error", err)
			}
			return
		}
		x.live = live
		x.egress = forward.NewEgress(server.workers, forward.EgressConfig{InitialRate: castRate, Now: server.config.Now})
	})
}

// ready reports whether the program is on air.
func (x *program) ready() bool {
	if x == nil || x.ended {
		return false
	}
	select {
	case <-x.begun:
		return x.live != nil
	default:
		return false
	}
}

// arrange takes the tracks that the room has now. It runs with each tick, and when a track ends.
func (x *program) arrange() {
	if !x.ready() {
		return
	}
	for _, t := range x.room.tracks {
		if t.kind == kindAudio && t.owner != nil && x.voices[t.id] == nil {
			x.hear(t)
		}
	}
	var list []candidate
	for _, t := range x.room.tracks {
		if t.kind == kindVideo && t.owner != nil && !t.muted {
			list = append(list, candidate{t.id, t.userID, t.source == sourceScreen})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	speakers := make([]string, 0, len(x.room.spoke))
	for _, s := range x.room.spoke {
		speakers = append(speakers, s.UserID)
	}
	before := x.choice.current
	if before != "" && !slices.ContainsFunc(list, func(c candidate) bool { return c.id == before }) {
		x.live.Blank() // a picture of a camera that is off doesn't stay
	}
	switch id := x.choice.next(x.room.server.config.Now(), list, x.room.spotlight(), speakers); id {
	case before:
	case "":
		x.hide()
		x.live.Blank()
	default:
		x.show(x.room.tracks[id])
	}
}

// spotlight is the user in the spotlight of the session; "" for none.
func (r *room) spotlight() string {
	switch user := r.session["spotlightUserId"].(type) {
	case string:
		return user
	case *string:
		if user != nil {
			return *user
		}
	}
	return ""
}

// hear adds a track of sound.
func (x *program) hear(t *track) {
	voice := x.live.Voice()
	x.voices[t.id] = &heard{voice: voice, sink: x.egress.Add(t.fwd, forward.SinkConfig{
		SSRC: rand.Uint32(), PayloadType: recordedPayloadType,
		Write: func(h *rtp.Header, payload []byte) (int, error) {
			voice.Packet(h.Timestamp, payload)
			return len(payload), nil
		},
	})}
}

// hide ends the forwarding of the shown track. Its last picture stays.
func (x *program) hide() {
	if x.shown != nil {
		x.shown.Close()
		x.shown = nil
	}
}

// show replaces the shown track.
func (x *program) show(t *track) {
	x.hide()
	ssrc, egress := rand.Uint32(), x.egress
	shown, err := x.live.Show(t.codec.MimeType, t.codec.ClockRate, func() {
		egress.HandleRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: ssrc}})
	})
	if err != nil {
		x.room.server.config.Log.Warn("sfu: a track can't be broadcast", "broadcast", x.id, "error", err)
		return
	}
	x.shown = egress.Add(t.fwd, forward.SinkConfig{
		SSRC: ssrc, PayloadType: recordedPayloadType,
		Write: func(h *rtp.Header, payload []byte) (int, error) {
			shown.Packet(h.SequenceNumber, h.Timestamp, h.Marker, payload)
			return len(payload), nil
		},
	})
	x.shown.View(forward.View{Width: compose.Width, Height: compose.Height})
}

// lose ends the use of a track that has ended.
func (x *program) lose(t *track) {
	if x == nil {
		return
	}
	if h := x.voices[t.id]; h != nil {
		delete(x.voices, t.id)
		h.sink.Close()
		h.voice.Close()
	}
	x.arrange()
}

// endProgram ends the room's broadcast, if there is one.
func (r *room) endProgram() {
	x := r.program
	if x == nil {
		return
	}
	r.program, x.ended = nil, true
	x.cancel()
	server := r.server
	server.wg.Go(func() {
		defer server.recovered("a broadcast")
		<-x.begun
		if x.live == nil {
			return
		}
		x.egress.Close()
		server.config.Broadcasts.End(x.id)
	})
}
