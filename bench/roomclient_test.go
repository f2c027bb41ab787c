package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

const roomPatience = time.Minute

// tally holds the counters of all clients of a process.
type tally struct {
	mu                   sync.Mutex
	late                 []float64 // ms
	sent, packets, bytes atomic.Int64
}

func (t *tally) take() crowdCount {
	c := crowdCount{Sent: int(t.sent.Swap(0)), Packets: int(t.packets.Swap(0)), Bytes: int(t.bytes.Swap(0))}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.late) > 0 {
		slices.Sort(t.late)
		c.P50, c.P99 = quantile(t.late, 0.5), quantile(t.late, 0.99)
	}
	t.late = t.late[:0]
	return c
}

// roomClient is a client that uses the SFU's protocol.
type roomClient struct {
	name   string
	plan   crowdPlan
	tally  *tally
	api    *webrtc.API
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	news   chan struct{}
	light  *lightConn // nil for a client that decrypts everything

	mu       sync.Mutex
	pub, sub *webrtc.PeerConnection
	answered bool
	streams  []*inbound
}

// inbound is a received track.
type inbound struct {
	mu             sync.Mutex
	begun          bool
	highest, first uint64
	got            int
	seen           [1 << 16 / 64]uint64 // bits of the last half of all sequence numbers; repairs may arrive twice
}

// joinRoom connects and joins the room.
func joinRoom(plan crowdPlan, name string, t *tally) (*roomClient, error) {
	c := &roomClient{name: name, plan: plan, tally: t, news: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	var err error
	if plan.Light && strings.HasPrefix(name, "viewer") {
		c.api, c.light, err = newLightAPI(t)
	} else {
		c.api, err = roomAPI()
	}
	if err != nil {
		return nil, err
	}
	query := url.Values{"token": {name}, "room": {plan.Room}}
	c.conn, _, err = websocket.Dial(c.ctx, plan.URL+"/?"+query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	c.conn.SetReadLimit(1 << 20)
	c.wg.Go(c.read)
	c.wg.Go(c.ping)
	return c, nil
}

// roomAPI returns WebRTC settings like a browser's: the client sends reports
// and requests repairs.
func roomAPI() (*webrtc.API, error) {
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetIPFilter(net.IP.IsLoopback)
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	media := &webrtc.MediaEngine{}
	if err := media.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	if err := webrtc.ConfigureSimulcastExtensionHeaders(media); err != nil {
		return nil, err
	}
	registry := &interceptor.Registry{}
	if err := webrtc.ConfigureNack(media, registry); err != nil {
		return nil, err
	}
	if err := webrtc.ConfigureRTCPReports(registry); err != nil {
		return nil, err
	}
	if err := webrtc.ConfigureTWCCSender(media, registry); err != nil {
		return nil, err
	}
	return webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(media), webrtc.WithInterceptorRegistry(registry)), nil
}

func (c *roomClient) say(m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, roomPatience)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, text)
}

func (c *roomClient) ping() {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = c.say(map[string]any{"type": "ping", "time": 1})
		case <-c.ctx.Done():
			return
		}
	}
}

func (c *roomClient) read() {
	for {
		_, text, err := c.conn.Read(c.ctx)
		if err != nil {
			return
		}
		var m struct {
			Type, SDP string
			ID        any
			Tracks    []struct{ MID, ID string }
			Code      string
		}
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		switch m.Type {
		case "offer":
			views := []map[string]any{}
			for i, t := range m.Tracks {
				// One participant is shown large, the others as tiles.
				width, height := 320, 180
				if i == 0 {
					width, height = 1280, 720
				}
				views = append(views, map[string]any{"id": t.ID, "width": width, "height": height})
			}
			if err := c.answer(m.ID, m.SDP); err == nil && len(c.plan.Layers) > 1 {
				_ = c.say(map[string]any{"type": "view", "tracks": views})
			}
		case "answer":
			_ = c.pub.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: m.SDP})
			c.change(func() { c.answered = true })
		case "bye", "error":
			fmt.Println(c.name, string(text))
		}
	}
}

// change changes the client under the lock and wakes the goroutines that wait for a change.
func (c *roomClient) change(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *roomClient) wait(what string, ok func() bool) error {
	deadline := time.After(roomPatience)
	for {
		c.mu.Lock()
		done := ok()
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-c.news:
		case <-deadline:
			return fmt.Errorf("%s: timed out waiting for %s", c.name, what)
		}
	}
}

func (c *roomClient) answer(id any, sdp string) error {
	c.mu.Lock()
	pc := c.sub
	c.mu.Unlock()
	if pc == nil {
		var err error
		if pc, err = c.api.NewPeerConnection(webrtc.Configuration{}); err != nil {
			return err
		}
		pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { c.wg.Go(func() { c.receive(t) }) })
		c.mu.Lock()
		c.sub = pc
		c.mu.Unlock()
		if c.light != nil {
			c.wg.Go(func() { c.light.report(c.ctx, pc) })
		}
	}
	if c.light != nil {
		c.light.offered(sdp)
	}
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: sdp}); err != nil {
		return err
	}
	answer, err := pc.CreateAnswer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(answer); err != nil {
		return err
	}
	<-gathered
	return c.say(map[string]any{"type": "answer", "id": id, "sdp": pc.LocalDescription().SDP})
}

// receive counts the packets of a track.
func (c *roomClient) receive(t *webrtc.TrackRemote) {
	in := &inbound{}
	buf := make([]byte, 2000)
	var p rtp.Packet
	for {
		n, _, err := t.Read(buf)
		if err != nil {
			return
		}
		now := time.Now().UnixNano()
		if p.Unmarshal(buf[:n]) != nil || len(p.Payload) < 8 {
			continue
		}
		if in.note(p.SequenceNumber) {
			c.change(func() { c.streams = append(c.streams, in) })
		}
		if c.light == nil {
			c.tally.packets.Add(1)
			c.tally.bytes.Add(int64(n))
		}
		late := float64(now-int64(binary.BigEndian.Uint64(p.Payload[len(p.Payload)-8:]))) / 1e6
		c.tally.mu.Lock()
		c.tally.late = append(c.tally.late, late)
		c.tally.mu.Unlock()
	}
}

// note records a sequence number and reports whether it is new.
func (in *inbound) note(seq uint16) (first bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.begun {
		in.begun, in.highest, in.got = true, 1<<16|uint64(seq), 1
		in.first = in.highest
		in.seen[seq/64] |= 1 << (seq % 64)
		return true
	}
	for ahead := int16(seq - uint16(in.highest)); ahead > 0; ahead-- {
		in.highest++
		forgotten := uint16(in.highest) + 1<<15
		in.seen[forgotten/64] &^= 1 << (forgotten % 64)
	}
	if in.seen[seq/64]>>(seq%64)&1 == 0 {
		in.seen[seq/64] |= 1 << (seq % 64)
		in.got++
	}
	return false
}

// receives waits until that many tracks arrive.
func (c *roomClient) receives(tracks int) error {
	have := 0
	err := c.wait(fmt.Sprint(tracks, " tracks"), func() bool { have = len(c.streams); return have >= tracks })
	if err != nil {
		return fmt.Errorf("%w: it has %d", err, have)
	}
	return nil
}

// loudest is how many voices the server forwards at once. One of them may be
// the client's own.
const loudest = 8

// expects returns the smallest number of tracks that should arrive.
func (c *roomClient) expects() int {
	others, heard := c.plan.Talkers, loudest
	if strings.HasPrefix(c.name, "guest") {
		others--
		heard--
	}
	if !c.plan.Sound {
		return others
	}
	return others + min(others, heard)
}

// takeLost returns how many packets were lost since the last call.
func (c *roomClient) takeLost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := 0
	streams := c.streams
	if c.light != nil {
		streams = []*inbound{&c.light.in}
	}
	for _, in := range streams {
		in.mu.Lock()
		lost += int(in.highest-in.first) + 1 - in.got
		in.first, in.got = in.highest, 1
		in.mu.Unlock()
	}
	return lost
}

// addr returns the address at which the client receives.
func (c *roomClient) addr() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub == nil {
		return ""
	}
	if c.light != nil {
		return c.light.LocalAddr().String()
	}
	pair, err := c.sub.GetReceivers()[0].Transport().ICETransport().GetSelectedCandidatePair()
	if err != nil || pair == nil {
		return ""
	}
	return net.JoinHostPort(pair.Local.Address, strconv.Itoa(int(pair.Local.Port)))
}

// leave sends "leave" and closes all connections.
func (c *roomClient) leave() {
	_ = c.say(map[string]any{"type": "leave"})
	c.cancel()
	_ = c.conn.CloseNow()
	for _, pc := range []*webrtc.PeerConnection{c.pub, c.sub} {
		if pc != nil {
			_ = pc.GracefulClose()
		}
	}
	c.wg.Wait()
	if c.light != nil {
		_ = c.light.mux.Close()
	}
}
