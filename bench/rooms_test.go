package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu"
)

// admitAll admits every client. A token is "<role>-<anything>".
type admitAll struct{}

func (admitAll) Identify(context.Context, string) (tenantID, roomID string, err error) {
	return "ten_bench", "room", nil
}

func (admitAll) Enter(_ context.Context, e sfu.Entry) (sfu.Grant, error) {
	role, _, _ := strings.Cut(e.Token, "-")
	return sfu.Grant{
		TenantID: "ten_bench", RoomID: e.RoomID, UserID: e.Token, ConnID: e.ConnID, DisplayName: e.Token, Role: role,
		Perms: sfu.Perms{Audio: role == "guest", Video: role == "guest"}, State: "joined", Room: sfu.RoomInfo{Kind: sfu.SessionRoom},
	}, nil
}

func (admitAll) Entered(context.Context, sfu.Connection) {}

func (admitAll) Leave(context.Context, sfu.Connection) error { return nil }

func (admitAll) SetMuted(context.Context, sfu.Connection, bool) error { return nil }

// startSFU serves rooms in this process and returns the URL for clients.
func startSFU(b *testing.B) (server *sfu.Server, url string) {
	b.Helper()
	return startSFUWith(b, func(*sfu.Config) {})
}

// startSFUWith starts a server whose configuration is changed.
func startSFUWith(b *testing.B, change func(*sfu.Config)) (server *sfu.Server, url string) {
	b.Helper()
	c := sfu.Config{Addr: "127.0.0.1:0", Gate: admitAll{}, Limits: sfu.Limits{AddressJoins: -1, RoomJoins: -1}}
	change(&c)
	var err error
	server, err = sfu.New(c)
	require.NoError(b, err)
	require.NoError(b, server.Start())
	web := httptest.NewServer(server.Handler())
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(b, server.Stop(ctx))
		web.Close()
		require.Zero(b, server.Stats().Panics)
	})
	return server, "ws" + strings.TrimPrefix(web.URL, "http")
}

// crowdPlan describes the clients of a room.
type crowdPlan struct {
	URL, Room string
	// Talkers publish a camera and a microphone, Viewers nothing.
	Talkers, Viewers int
	// Layers of a camera in bits per second, the smallest first.
	Layers []int
	// Sound: talkers have microphones.
	Sound bool
	// Light viewers decrypt only a part of the packets that they receive.
	Light bool
	// Direct adds two clients that send to each other without the server.
	Direct bool
}

// crowdCount counts the packets sent and received since the last count.
type crowdCount struct {
	Sent, Packets, Bytes, Lost int
	// Delays of packets from one client to another, in ms: through the server, and without it.
	P50, P99, DirectP50, DirectP99 float64
	// Addrs are the addresses at which viewers receive.
	Addrs []string
}

const crowdEnv = "SHOWFLOOR_BENCH_CROWD"

// crowd is a child process with the clients of a room, so that their CPU time
// doesn't count as the server's.
type crowd struct {
	cmd   *exec.Cmd
	stdin interface {
		Write(b []byte) (int, error)
		Close() error
	}
	lines *bufio.Scanner
}

// startCrowd returns once all clients receive all tracks.
func startCrowd(b *testing.B, plan crowdPlan) *crowd {
	b.Helper()
	text, err := json.Marshal(plan)
	require.NoError(b, err)
	exe, err := os.Executable()
	require.NoError(b, err)
	c := &crowd{cmd: exec.Command(exe, "-test.run=^TestCrowdProcess$", "-test.v")}
	c.cmd.Env = append(os.Environ(), crowdEnv+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, c.cmd.Start())
	b.Cleanup(c.stop)
	c.lines = bufio.NewScanner(stdout)
	c.lines.Buffer(nil, 1<<20)
	c.ask(b, "")
	return c
}

const crowdSays = "crowd: "

// ask sends a command to the child and returns its counts. Commands are "count",
// and "churn <n>" for n clients that join and leave.
func (c *crowd) ask(b *testing.B, command string) crowdCount {
	b.Helper()
	if command != "" {
		_, err := c.stdin.Write([]byte(command + "\n"))
		require.NoError(b, err)
	}
	var said []string
	for c.lines.Scan() {
		if text, ok := strings.CutPrefix(c.lines.Text(), crowdSays); ok {
			var count crowdCount
			require.NoError(b, json.Unmarshal([]byte(text), &count))
			return count
		}
		said = append(said, c.lines.Text())
	}
	b.Fatalf("the crowd is gone:\n%s", strings.Join(said, "\n"))
	return crowdCount{}
}

// stop ends the clients and waits for them. It may be called again.
func (c *crowd) stop() {
	_ = c.stdin.Close()
	_ = c.cmd.Wait() // its exit code doesn't matter
}

// watch waits for d. It returns the packets that arrived, and the CPU time of this
// process.
func (c *crowd) watch(b *testing.B, d time.Duration) (crowdCount, time.Duration) {
	b.Helper()
	c.ask(b, "count")
	before := selfCPU(b)
	<-time.After(d)
	used := selfCPU(b) - before
	return c.ask(b, "count"), used
}

// selfCPU returns the CPU time of this process, in user and system mode.
func selfCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// selfRSS returns the memory of this process in MiB, after garbage was returned to
// the system.
func selfRSS(b *testing.B) float64 {
	b.Helper()
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(b, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// TestCrowdProcess is the child process of startCrowd.
func TestCrowdProcess(t *testing.T) {
	raw := os.Getenv(crowdEnv)
	if raw == "" {
		t.Skip("runs as the child of a benchmark")
	}
	var plan crowdPlan
	require.NoError(t, json.Unmarshal([]byte(raw), &plan))
	r := &roomClients{plan: plan}
	defer r.close()
	require.NoError(t, r.enter())
	say := func() {
		text, err := json.Marshal(r.count())
		require.NoError(t, err)
		fmt.Println(crowdSays + string(text))
	}
	say()
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		if n, ok := strings.CutPrefix(commands.Text(), "churn "); ok {
			times, err := strconv.Atoi(n)
			require.NoError(t, err)
			require.NoError(t, r.churn(times))
		}
		say()
	}
}

// roomClients are the clients of a plan.
type roomClients struct {
	plan crowdPlan
	tally
	clients []*roomClient
	direct  *directPair
}

// enter lets all clients join, publishers first.
func (r *roomClients) enter() error {
	for i := range r.plan.Talkers {
		c, err := joinRoom(r.plan, fmt.Sprint("guest-", i), &r.tally)
		if err != nil {
			return err
		}
		r.clients = append(r.clients, c)
		if err := c.publish(); err != nil {
			return err
		}
	}
	if err := r.inParallel(r.plan.Viewers, func(i int) error {
		c, err := joinRoom(r.plan, fmt.Sprint("viewer-", i), &r.tally)
		if err == nil {
			r.mu.Lock()
			r.clients = append(r.clients, c)
			r.mu.Unlock()
		}
		return err
	}); err != nil {
		return err
	}
	for _, c := range r.clients {
		if err := c.receives(c.expects()); err != nil {
			return err
		}
	}
	if r.plan.Direct {
		var err error
		r.direct, err = newDirectPair(r.plan)
		return err
	}
	return nil
}

// inParallel calls f n times, ten at a time, and returns one of its errors.
func (r *roomClients) inParallel(n int, f func(i int) error) error {
	errs := make(chan error, n)
	slots := make(chan struct{}, 10)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			errs <- f(i)
			<-slots
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// churn lets clients join, receive media and leave.
func (r *roomClients) churn(times int) error {
	return r.inParallel(times, func(i int) error {
		c, err := joinRoom(r.plan, fmt.Sprint("viewer-churn-", i), &tally{})
		if err != nil {
			return err
		}
		defer c.leave()
		return c.receives(c.expects())
	})
}

func (r *roomClients) count() crowdCount {
	count := r.take()
	if r.direct != nil {
		direct := r.direct.receiver.tally.take()
		count.DirectP50, count.DirectP99 = direct.P50, direct.P99
	}
	for _, c := range r.clients {
		count.Lost += c.takeLost()
		if addr := c.addr(); addr != "" && strings.HasPrefix(c.name, "viewer") {
			count.Addrs = append(count.Addrs, addr)
		}
	}
	return count
}

func (r *roomClients) close() {
	for _, c := range r.clients {
		c.leave()
	}
	if r.direct != nil {
		r.direct.close()
	}
}
