package sfu

import (
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"showfloor/internal/media/sfu/forward"
	"showfloor/internal/media/trackfile"
)

// Recordings makes the files of recordings. Its methods may block; they are called apart from the rooms' work.
type Recordings interface {
	// Begin makes the files of a recording's next part: a recording has several if its room ends and is opened again. failed is for
	// trackfile.Config.Failed.
	Begin(recordingID string, failed func(error)) (*trackfile.Writer, error)
	// End is called once for each writer that Begin has returned, when it is closed. err says why the part is incomplete; nil if it
	// isn't.
	End(recordingID string, w *trackfile.Writer, err error)
}

const (
	// recordedPayloadType is that of the packets that are recorded. Files don't have it.
	recordedPayloadType = 96
	// patience is how long a missing packet of a picture is waited for. Then a key frame is requested: a recording can't
	// conceal the loss otherwise.
	patience = 500 * time.Millisecond
	// refresh is how often a key frame is requested without a loss. The recording is composed in pieces while the room is open, and
	// each piece decodes again from the key frame before it: half of this time on average.
	refresh = 30 * time.Second
)

// recording writes the tracks of a room. The room's goroutine owns it, except for the reports.
type recording struct {
	room  *room
	id    string
	begun chan struct{} // closed when writer is set, or Begin has failed

	writer *trackfile.Writer
	egress *forward.Egress
	taps   map[string]*tap // by track
	people map[string]bool // who has a tile
	layout [2]string       // the layout that was noted last, and the spotlighted user
	ended  bool

	mu     sync.Mutex
	bySSRC map[uint32]*tap // for reports
}

// tap writes one track. Only the egress' worker touches the fields from begun on.
type tap struct {
	file *trackfile.Track
	sink *forward.Sink
	ask  func() // requests a key frame; nil for audio

	begun   bool
	next    uint16
	missing int
	since   time.Time
	asked   time.Time // when a key frame was requested last, or the track began
}

// Record starts a recording of a room that is here. It does nothing if the recording is running, or has ended here. A running
// recording with another id ends.
func (s *Server) Record(roomID, recordingID string) {
	if r := s.room(roomID); r != nil && s.config.Recordings != nil {
		r.box.post(func() { r.record(recordingID) })
	}
}

// StopRecording ends a recording of a room.
func (s *Server) StopRecording(roomID, recordingID string) {
	if r := s.room(roomID); r != nil {
		r.box.post(func() {
			r.recorded[recordingID] = true
			if r.recording != nil && r.recording.id == recordingID {
				r.endRecording()
			}
		})
	}
}

// follow starts the recording with an id, and ends another one; "" for none.
func (r *room) follow(id string) {
	switch {
	case r.server.config.Recordings == nil:
	case id != "":
		r.record(id)
	default:
		r.endRecording()
	}
}

// record starts a recording. Its files are made off the room's goroutine.
func (r *room) record(id string) {
	if r.recorded[id] {
		return
	}
	r.endRecording()
	r.recorded[id] = true
	x := &recording{
		room: r, id: id, begun: make(chan struct{}), taps: map[string]*tap{}, people: map[string]bool{}, bySSRC: map[uint32]*tap{},
	}
	r.recording = x
	server := r.server
	server.wg.Go(func() {
		defer server.recovered("a recording")
		w, err := server.config.Recordings.Begin(id, func(error) { r.box.post(x.end) })
		if err != nil {
			close(x.begun)
			server.config.Log.Error("sfu: a recording could not begin", "recording", id, "error", err)
			r.box.post(x.forget)
			return
		}
		x.writer = w
		x.egress = forward.NewEgress(server.workers, forward.EgressConfig{
			InitialRate: castRate, Now: server.config.Now, WriteRTCP: x.reports,
		})
		close(x.begun)
		r.box.post(x.begin)
	})
}

// ready reports whether the files are made, and the recording hasn't ended.
func (x *recording) ready() bool {
	if x == nil || x.ended {
		return false
	}
	select {
	case <-x.begun:
		return x.writer != nil
	default:
		return false
	}
}

// begin notes who is in the room, and writes the tracks that it has.
func (x *recording) begin() {
	if !x.ready() {
		return
	}
	x.room.announceRecording(true)
	x.arranged()
	for _, m := range x.room.members {
		x.see(m)
	}
	for _, t := range x.room.tracks {
		x.take(t)
	}
	x.spoke()
}

// see notes a member that has a tile: one that may publish. It also notes that the member has none any more.
func (x *recording) see(m *member) {
	if !x.ready() {
		return
	}
	id := m.grant.UserID
	switch shown := m.grant.Perms.any() && !m.grant.waits(); {
	case shown:
		x.people[id] = true
		x.writer.Note(trackfile.Event{Kind: trackfile.Joined, UserID: id, Name: m.grant.DisplayName})
	case x.people[id]:
		x.left(id)
	}
}

// left notes that a member has no tile any more.
func (x *recording) left(id string) {
	if x.ready() && x.people[id] {
		delete(x.people, id)
		x.writer.Note(trackfile.Event{Kind: trackfile.Left, UserID: id})
	}
}

// spoke notes the current speakers.
func (x *recording) spoke() {
	if !x.ready() {
		return
	}
	users := make([]string, 0, len(x.room.spoke))
	for _, s := range x.room.spoke {
		users = append(users, s.UserID)
	}
	x.writer.Note(trackfile.Event{Kind: trackfile.Spoke, Users: users})
}

// arranged notes the session's layout, if it has changed.
func (x *recording) arranged() {
	if !x.ready() {
		return
	}
	layout, _ := x.room.session["layout"].(string)
	user := x.room.spotlight()
	if now := [2]string{layout, user}; now != x.layout {
		x.layout = now
		x.writer.Note(trackfile.Event{Kind: trackfile.Arranged, Layout: layout, UserID: user})
	}
}

// muted notes whether a track is muted.
func (x *recording) muted(t *track) {
	if !x.ready() || x.taps[t.id] == nil {
		return
	}
	kind := trackfile.Unmuted
	if t.muted {
		kind = trackfile.Muted
	}
	x.writer.Note(trackfile.Event{Kind: kind, UserID: t.userID, TrackID: t.id})
}

// take starts to write a participant's track.
func (x *recording) take(t *track) {
	if !x.ready() || t.owner == nil || x.taps[t.id] != nil {
		return
	}
	file, err := x.writer.Track(trackfile.Info{
		ID: t.id, UserID: t.userID, Clock: t.owner.connID, Source: t.source, MimeType: t.codec.MimeType, ClockRate: t.codec.ClockRate,
	})
	if err != nil {
		x.room.server.config.Log.Error("sfu: a track can't be recorded", "recording", x.id, "error", err)
		return
	}
	p, ssrc := &tap{file: file}, rand.Uint32()
	if t.kind == kindVideo {
		p.ask = func() { x.egress.HandleRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: ssrc}}) }
	}
	x.mu.Lock()
	x.bySSRC[ssrc] = p
	x.mu.Unlock()
	x.taps[t.id] = p
	now := x.room.server.config.Now
	p.sink = x.egress.Add(t.fwd, forward.SinkConfig{
		SSRC: ssrc, PayloadType: recordedPayloadType,
		Write: func(h *rtp.Header, payload []byte) (int, error) {
			p.write(h, payload, now)
			return len(payload), nil
		},
	})
	x.writer.Note(trackfile.Event{Kind: trackfile.Published, UserID: t.userID, TrackID: t.id, Source: t.source})
	if t.muted {
		x.muted(t)
	}
}

// write stores a packet. It requests a key frame when one before it is missing for too long, and in intervals of refresh.
func (p *tap) write(h *rtp.Header, payload []byte, now func() time.Time) {
	p.file.Packet(h.SequenceNumber, h.Timestamp, h.Marker, payload)
	if p.ask == nil {
		return
	}
	ahead := int(int16(h.SequenceNumber - p.next))
	switch {
	case !p.begun:
		p.begun, p.next, p.asked = true, h.SequenceNumber+1, now()
	case ahead < 0: // a repair
		p.missing = max(p.missing-1, 0)
	default:
		if ahead > 0 && p.missing == 0 {
			p.since = now()
		}
		p.missing, p.next = p.missing+ahead, h.SequenceNumber+1
	}
	if at := now(); p.missing > 0 && at.Sub(p.since) > patience || at.Sub(p.asked) >= refresh {
		p.missing, p.asked = 0, at
		p.ask()
	}
}

// reports stores the sender reports of the egress, which have the publishers' clocks.
func (x *recording) reports(packets []rtcp.Packet) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, packet := range packets {
		if sr, ok := packet.(*rtcp.SenderReport); ok {
			if p := x.bySSRC[sr.SSRC]; p != nil {
				p.file.Report(sr.NTPTime, sr.RTPTime)
			}
		}
	}
	return nil
}

// lose ends the writing of a track.
func (x *recording) lose(t *track) {
	if x == nil || x.taps[t.id] == nil {
		return
	}
	p := x.taps[t.id]
	delete(x.taps, t.id)
	p.sink.Close()
	p.file.Close()
	x.mu.Lock()
	for ssrc, other := range x.bySSRC {
		if other == p {
			delete(x.bySSRC, ssrc)
		}
	}
	x.mu.Unlock()
	if x.ready() {
		x.writer.Note(trackfile.Event{Kind: trackfile.Ended, UserID: t.userID, TrackID: t.id})
	}
}

// endRecording ends the room's recording, if there is one.
func (r *room) endRecording() {
	if r.recording != nil {
		r.recording.end()
	}
}

// end ends the recording. Its files are closed off the room's goroutine.
func (x *recording) end() {
	if x.ended {
		return
	}
	announced := x.ready()
	x.ended = true
	x.forget()
	if announced {
		x.room.announceRecording(false)
	}
	server := x.room.server
	server.wg.Go(func() {
		defer server.recovered("a recording")
		<-x.begun
		if x.writer == nil {
			return
		}
		x.egress.Close()
		err := x.writer.Close()
		if n := x.writer.Dropped(); n > 0 {
			server.config.Log.Warn("sfu: packets of a recording were dropped", "recording", x.id, "packets", n)
		}
		server.config.Recordings.End(x.id, x.writer, err)
	})
}

// announceRecording informs the members whether the room is being recorded.
func (r *room) announceRecording(on bool) {
	r.sendAll(encode(sessionMessage{typeSession, map[string]any{recordingKey: on}}), nil)
}

// recordingKey is the field of the session that says whether the room is being recorded. The grants of the gate don't have it.
const recordingKey = "recording"

// sessionNow returns the session as a welcome has it. It says too that the room isn't being recorded: a client that resumes keeps
// fields that are absent.
func (r *room) sessionNow() map[string]any {
	if r.server.config.Recordings == nil || r.session == nil {
		return r.session
	}
	now := map[string]any{recordingKey: r.recording.ready()}
	maps.Copy(now, r.session)
	return now
}

// forget removes the recording from its room.
func (x *recording) forget() {
	if x.room.recording == x {
		x.room.recording = nil
	}
}

// Recorded returns the ids of the recordings that are running here, by room.
func (s *Server) Recorded() map[string]string {
	list := map[string]string{}
	for _, id := range s.Rooms() {
		r := s.room(id)
		if r == nil {
			continue
		}
		found := make(chan string, 1)
		if !r.box.post(func() {
			recordingID := ""
			if r.recording != nil {
				recordingID = r.recording.id
			}
			found <- recordingID
		}) {
			continue
		}
		select {
		case recordingID := <-found:
			if recordingID != "" {
				list[id] = recordingID
			}
		case <-r.done:
		}
	}
	return list
}

// recordedBefore are the most recordings of a room that are remembered, so that a late message doesn't start one again.
const recordedBefore = 1000

// dropRecorded forgets the recordings of a room that has had too many.
func (r *room) dropRecorded() {
	if len(r.recorded) > recordedBefore {
		running := r.recording
		clear(r.recorded)
		if running != nil {
			r.recorded[running.id] = true
		}
	}
}
