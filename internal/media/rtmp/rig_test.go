package rtmp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// patience is the timeout of a test for something that must happen.
const patience = 30 * time.Second

// board wakes waiters after each change.
type board struct {
	mu      sync.Mutex
	changed chan struct{}
}

func newBoard() *board { return &board{changed: make(chan struct{})} }

// note runs f under the lock and wakes all who wait.
func (b *board) note(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// look runs f under the lock.
func (b *board) look(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// await waits until cond, which runs under the lock, is true.
func (b *board) await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		b.mu.Lock()
		ok, changed := cond(), b.changed
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// tape is an output that records all units.
type tape struct {
	*board
	units   []*hub.Unit
	streams int
	sealed  int
}

func (p *tape) Open(s *hub.Stream) {
	r := s.Subscribe()
	p.note(func() { p.streams++ })
	go func() {
		for {
			u, err := r.Next(context.Background())
			if err != nil {
				p.note(func() { p.sealed++ })
				return
			}
			p.note(func() { p.units = append(p.units, u) })
		}
	}()
}

// only returns the units of one kind.
func (p *tape) only(video bool) []*hub.Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.units), func(u *hub.Unit) bool { return u.Track.Codec.Video() != video })
}

// first waits for n units and returns them.
func (p *tape) first(t testing.TB, n int) (units []*hub.Unit) {
	t.Helper()
	p.await(t, "units", func() bool { return len(p.units) >= n })
	p.look(func() { units = slices.Clone(p.units[:n]) })
	return units
}

// opened returns how many streams were opened.
func (p *tape) opened() (n int) {
	p.look(func() { n = p.streams })
	return n
}

func (p *tape) count(video bool) (n int) {
	for _, u := range p.units {
		if u.Track.Codec.Video() == video {
			n++
		}
	}
	return n
}

// testGate is a Gate that accepts some keys.
type testGate struct {
	*board
	keys        map[string]hub.Broadcast
	attempts    []Attempt
	asking      int // calls of Publish that hold blocks
	rejected    []string
	unpublished []string
	fail        error
	// hold, if it isn't nil, blocks answers until it is closed.
	hold chan struct{}
}

func (d *testGate) Publish(ctx context.Context, a Attempt) (b hub.Broadcast, err error) {
	if d.hold != nil {
		d.note(func() { d.asking++ })
		defer d.note(func() { d.asking-- })
		select {
		case <-d.hold:
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
	d.note(func() {
		d.attempts = append(d.attempts, a)
		var ok bool
		if b, ok = d.keys[a.Key]; !ok {
			err = &StatusError{codeBadName, "Unknown stream key: check it in the dashboard."}
		}
		if d.fail != nil {
			err = d.fail
		}
	})
	if a.Key == "explode" {
		panic("the gate exploded")
	}
	return b, err
}

// attempt returns the i-th attempt.
func (d *testGate) attempt(i int) (a Attempt) {
	d.look(func() { a = d.attempts[i] })
	return a
}

// left returns the connections that have left.
func (d *testGate) left() (ids []string) {
	d.look(func() { ids = slices.Clone(d.unpublished) })
	return ids
}

// reasons returns why media was rejected.
func (d *testGate) reasons() (all []string) {
	d.look(func() { all = slices.Clone(d.rejected) })
	return all
}

func (d *testGate) Rejected(_ context.Context, connID, reason string) {
	d.note(func() { d.rejected = append(d.rejected, reason) })
}

func (d *testGate) Unpublish(_ context.Context, connID string) {
	d.note(func() { d.unpublished = append(d.unpublished, connID) })
}

// rig is a running server.
type rig struct {
	*Server
	hub  *hub.Hub
	tape *tape
	gate *testGate
	url  string // up to the key
	// panics is how many panics the test causes on purpose.
	panics uint64
}

func newRig(t testing.TB, change func(*Config)) *rig {
	t.Helper()
	g := &rig{
		tape: &tape{board: newBoard()},
		gate: &testGate{board: newBoard(), keys: map[string]hub.Broadcast{
			"secret": {StreamID: "one"}, "other": {StreamID: "two"},
			"patient": {StreamID: "patient", ReconnectWindow: time.Hour},
		}},
	}
	g.hub = hub.New(hub.Config{Outputs: []hub.Output{g.tape}})
	config := Config{Addr: "127.0.0.1:0", Hub: g.hub, Gate: g.gate, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	if change != nil {
		change(&config)
	}
	var err error
	g.Server, err = New(config)
	require.NoError(t, err)
	require.NoError(t, g.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, g.Stop(ctx))
		require.Equal(t, g.panics, g.Stats().Refused["panic"], "panics that were recovered; their stacks are in the log")
		g.hub.Close()
		g.tape.await(t, "all streams sealed", func() bool { return g.tape.sealed == g.tape.streams })
	})
	g.url = "rtmp://" + g.Addr().String() + "/live/"
	return g
}

// gone waits until n accepted publishers have left.
func (g *rig) gone(t testing.TB, n int) {
	t.Helper()
	g.gate.await(t, "unpublish", func() bool { return len(g.gate.unpublished) >= n })
}

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// selfSigned returns a certificate for 127.0.0.1.
func selfSigned(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// clip makes an FLV file of seconds with ffmpeg: x264 with B-frames, and AAC
// unless rate is 0. Video is left out when fps is 0.
func clip(t testing.TB, seconds string, fps, rate, channels string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clip.flv")
	args := []string{"-hide_banner", "-loglevel", "error", "-y"}
	if fps != "" {
		args = append(args, "-f", "lavfi", "-i", "testsrc2=size=320x180:rate="+fps)
	}
	if rate != "" {
		args = append(args, "-f", "lavfi", "-i", "sine=frequency=440:sample_rate="+rate)
	}
	if fps != "" {
		args = append(args, "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", fps, "-pix_fmt", "yuv420p")
	}
	if rate != "" {
		args = append(args, "-c:a", "aac", "-ar", rate, "-ac", channels)
	}
	out, err := exec.Command("ffmpeg", append(args, "-t", seconds, path)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// publish runs an encoder to its end and returns its output.
func publish(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("%s did not end: %s", name, out)
	}
	return string(out), err
}

func ffmpegArgs(file, url string) []string {
	return []string{"-hide_banner", "-nostdin", "-i", file, "-c", "copy", "-f", "flv", url}
}

var _ io.Writer = testLog{}
