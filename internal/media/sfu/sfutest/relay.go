package sfutest

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Weather is how a network treats packets, in each direction.
type Weather struct {
	// Loss is the share of packets that are lost, at random.
	Loss float64
	// Burst is how long all packets are lost, once in Every.
	Burst, Every time.Duration
	// Jitter is the largest additional delay of a packet, at random, so that packets overtake
	// each other.
	Jitter time.Duration
	// Black drops all packets.
	Black bool
}

// Relay is a proxy between clients and the server's media port, on a port of its own, over UDP
// and TCP. A client that joins Through it is subject to its weather. Of TCP connections, only
// Stall applies.
type Relay struct {
	udp      *net.UDPConn
	tcp      net.Listener
	upstream string
	work     sync.WaitGroup

	mu      sync.Mutex
	random  *rand.Rand
	weather Weather
	began   time.Time
	paths   map[string]*path
	pipes   []net.Conn
	stalled bool
	resumed chan struct{}
	closed  bool
	lost    int
	carried int
}

// path is the connection for one client's packets to the server.
type path struct {
	client *net.UDPAddr
	server net.Conn
}

// NewRelay returns a relay to the server's media port. The seed determines all random choices.
func NewRelay(t testing.TB, server net.Addr, seed uint64) *Relay {
	t.Helper()
	r := &Relay{
		upstream: server.String(), random: rand.New(rand.NewPCG(seed, 0)), began: time.Now(), paths: map[string]*path{},
		resumed: make(chan struct{}),
	}
	for r.tcp == nil {
		var err error
		if r.udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
		if r.tcp, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", r.udp.LocalAddr().String()); err != nil {
			_ = r.udp.Close() // the port is in use for TCP
		}
	}
	r.work.Go(r.toServer)
	r.work.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// Port is the port on which it listens.
func (r *Relay) Port() int { return int(netip.MustParseAddrPort(r.udp.LocalAddr().String()).Port()) }

// Set changes the weather.
func (r *Relay) Set(w Weather) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weather, r.began = w, time.Now()
}

// Counts returns how many packets arrived at the relay, and how many of them it dropped.
func (r *Relay) Counts() (carried, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.carried, r.lost
}

// Move gives every client another address towards the server, like a router that has lost its
// NAT table.
func (r *Relay) Move() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, p := range r.paths {
		_ = p.server.Close()
		delete(r.paths, key)
	}
}

// Stall stops forwarding the server's bytes over TCP, or continues.
func (r *Relay) Stall(stalled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled && !stalled {
		close(r.resumed)
		r.resumed = make(chan struct{})
	}
	r.stalled = stalled
}

func (r *Relay) close() {
	r.mu.Lock()
	r.closed = true
	for _, p := range r.paths {
		_ = p.server.Close()
	}
	for _, p := range r.pipes {
		_ = p.Close()
	}
	if r.stalled {
		r.stalled = false
		close(r.resumed)
	}
	r.mu.Unlock()
	_ = r.udp.Close()
	_ = r.tcp.Close()
	r.work.Wait()
}

// toServer forwards the packets of clients.
func (r *Relay) toServer() {
	buf := make([]byte, 2000)
	for {
		n, from, err := r.udp.ReadFromUDP(buf)
		if err != nil {
			return
		}
		p := r.pathOf(from)
		if p == nil {
			return
		}
		r.carry(buf[:n], func(b []byte) { _, _ = p.server.Write(b) })
	}
}

func (r *Relay) pathOf(client *net.UDPAddr) *path {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if p := r.paths[client.String()]; p != nil {
		return p
	}
	server, err := (&net.Dialer{}).DialContext(context.Background(), "udp4", r.upstream)
	if err != nil {
		return nil
	}
	p := &path{client, server}
	r.paths[client.String()] = p
	r.work.Go(func() { r.toClient(p) })
	return p
}

// toClient forwards the server's packets to one client.
func (r *Relay) toClient(p *path) {
	buf := make([]byte, 2000)
	for {
		n, err := p.server.Read(buf)
		if err != nil {
			return
		}
		r.carry(buf[:n], func(b []byte) { _, _ = r.udp.WriteToUDP(b, p.client) })
	}
}

// carry forwards a packet, at once or delayed, or drops it.
func (r *Relay) carry(packet []byte, send func([]byte)) {
	r.mu.Lock()
	w, since := r.weather, time.Since(r.began)
	drop := w.Black || r.random.Float64() < w.Loss || w.Every > 0 && since%w.Every >= w.Every-w.Burst
	late := time.Duration(0)
	if w.Jitter > 0 {
		late = time.Duration(r.random.Int64N(int64(w.Jitter)))
	}
	r.carried++
	if drop {
		r.lost++
	}
	r.mu.Unlock()
	switch {
	case drop:
	case late > 0:
		b := append([]byte(nil), packet...)
		time.AfterFunc(late, func() { send(b) })
	default:
		send(packet)
	}
}

func (r *Relay) accept() {
	for {
		client, err := r.tcp.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp4", r.upstream)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		closed := r.closed
		r.pipes = append(r.pipes, client, server)
		r.mu.Unlock()
		if closed {
			_, _ = client.Close(), server.Close()
			return
		}
		r.work.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		r.work.Go(func() {
			r.pour(client, server)
			_, _ = client.Close(), server.Close()
		})
	}
}

// pour forwards the server's bytes over TCP, and reads nothing while stalled.
func (r *Relay) pour(client, server net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		r.mu.Lock()
		stalled, resumed := r.stalled, r.resumed
		r.mu.Unlock()
		if stalled {
			<-resumed
			continue
		}
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

var candidate = regexp.MustCompile(`(a=candidate:\S+ \d+ \S+ \d+ )(\S+) (\d+)( typ host)`)

// Rewrite replaces the server's port in a description by the relay's.
func (r *Relay) Rewrite(sdp string) string {
	return candidate.ReplaceAllString(sdp, "${1}127.0.0.1 "+strconv.Itoa(r.Port())+"${4}")
}
