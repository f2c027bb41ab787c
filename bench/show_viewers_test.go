package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// showCrowdEnv makes the test binary run a show's viewers instead of tests.
const showCrowdEnv = "SHOWFLOOR_BENCH_SHOW_VIEWERS"

// showCrowdPlan describes the viewers of a process.
type showCrowdPlan struct {
	// Address is the realtime channel's, or that of a bare server, which only writes (Bare).
	Address string `json:"address"`
	Bare    bool   `json:"bare"`
	// Room is the channel. Each token is a viewer.
	Room   string   `json:"room"`
	Tokens []string `json:"tokens"`
	// HeartEvery is the average pause between two hearts of a viewer; 0 for no hearts.
	HeartEvery time.Duration `json:"heartEvery"`
}

// showArrivals are the times at which publications of a type arrived, in the order of their arrival, for each viewer.
type showArrivals map[string][][]int64 // nanoseconds since 1970

// showCrowd is a process with viewers.
type showCrowd struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// startShowCrowd starts the viewers, and returns when all are subscribed.
func startShowCrowd(b *testing.B, what showCrowdPlan) *showCrowd {
	b.Helper()
	plan, err := json.Marshal(what)
	require.NoError(b, err)
	exe, err := os.Executable()
	require.NoError(b, err)
	file := b.TempDir() + "/plan.json" // too long for an environment variable
	require.NoError(b, os.WriteFile(file, plan, 0o600))
	c := &showCrowd{cmd: exec.Command(exe, "-test.run=^TestShowViewersProcess$")}
	c.cmd.Env = append(os.Environ(), showCrowdEnv+"="+file)
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	require.NoError(b, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(b, err)
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 64<<20)
	require.NoError(b, c.cmd.Start())
	require.True(b, c.lines.Scan(), "the viewers didn't connect")
	require.Equal(b, "connected", c.lines.Text())
	return c
}

// arrivals asks for the arrivals since the last question, and for the number of all publications.
func (c *showCrowd) arrivals(b *testing.B) (of showArrivals, all int64) {
	b.Helper()
	_, err := fmt.Fprintln(c.in, "arrivals")
	require.NoError(b, err)
	require.True(b, c.lines.Scan(), "the viewers have ended")
	var answer struct {
		Arrivals showArrivals `json:"arrivals"`
		All      int64        `json:"all"`
	}
	require.NoError(b, json.Unmarshal(c.lines.Bytes(), &answer))
	return answer.Arrivals, answer.All
}

func (c *showCrowd) stop(b *testing.B) {
	b.Helper()
	require.NoError(b, c.in.Close())
	require.NoError(b, c.cmd.Wait())
}

// TestShowViewersProcess is the process of a showCrowd.
func TestShowViewersProcess(t *testing.T) {
	file := os.Getenv(showCrowdEnv)
	if file == "" {
		t.Skip("run by BenchmarkShow")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var plan showCrowdPlan
	require.NoError(t, json.Unmarshal(text, &plan))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	viewers := make([]*showViewer, len(plan.Tokens))
	var connected, ended sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i, token := range plan.Tokens {
		viewers[i] = &showViewer{plan: plan, token: token}
		connected.Add(1)
		ended.Go(func() {
			slots <- struct{}{}
			err := viewers[i].connect(ctx)
			<-slots
			connected.Done()
			if err == nil {
				err = viewers[i].follow(ctx)
			}
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	connected.Wait()
	fmt.Println("connected")
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		answer := struct {
			Arrivals showArrivals `json:"arrivals"`
			All      int64        `json:"all"`
		}{Arrivals: showArrivals{}}
		for _, v := range viewers {
			pins, ticks := v.take()
			answer.Arrivals["prod-pin"] = append(answer.Arrivals["prod-pin"], pins)
			answer.Arrivals["stock-tick"] = append(answer.Arrivals["stock-tick"], ticks)
			answer.All += v.all.Swap(0)
		}
		require.NoError(t, json.NewEncoder(os.Stdout).Encode(answer))
	}
	cancel()
	ended.Wait()
}

// showViewer is one viewer's realtime connection.
type showViewer struct {
	plan  showCrowdPlan
	token string
	ws    *websocket.Conn
	tcp   net.Conn
	all   atomic.Int64

	mu          sync.Mutex
	pins, ticks []int64
}

func (v *showViewer) connect(ctx context.Context) (err error) {
	if v.plan.Bare {
		v.tcp, err = (&net.Dialer{}).DialContext(ctx, "tcp", v.plan.Address)
		return err
	}
	if v.ws, _, err = websocket.Dial(ctx, v.plan.Address, nil); err != nil {
		return err
	}
	v.ws.SetReadLimit(1 << 20)
	hello := fmt.Sprintf(`{"id":1,"connect":{"token":%q}}`, v.token) + "\n" + fmt.Sprintf(`{"id":2,"subscribe":{"channel":"room:%s"}}`, v.plan.Room)
	if err := v.ws.Write(ctx, websocket.MessageText, []byte(hello)); err != nil {
		return err
	}
	for subscribed := false; !subscribed; {
		_, text, err := v.ws.Read(ctx)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(`"error"`)) || bytes.Contains(text, []byte(`"disconnect"`)) {
			return fmt.Errorf("refused: %s", text)
		}
		subscribed = bytes.Contains(text, []byte(`"id":2`))
	}
	return nil
}

// follow reads publications until ctx ends, answers pings, and sends hearts.
func (v *showViewer) follow(ctx context.Context) error {
	if v.plan.Bare {
		stop := context.AfterFunc(ctx, func() { _ = v.tcp.Close() })
		defer stop()
		_, _ = io.Copy(io.Discard, v.tcp)
		return nil
	}
	if v.plan.HeartEvery > 0 {
		go v.sendHearts(ctx)
	}
	for {
		_, text, err := v.ws.Read(ctx)
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		for line := range bytes.Lines(text) {
			switch {
			case bytes.Equal(bytes.TrimSpace(line), []byte("{}")):
				if err := v.ws.Write(ctx, websocket.MessageText, []byte("{}")); err != nil {
					return err
				}
			case bytes.Contains(line, []byte(`"push"`)):
				v.all.Add(1)
				v.note(line, now)
			}
		}
	}
}

func (v *showViewer) note(line []byte, now int64) {
	pin, tick := bytes.Contains(line, []byte(`"type":"prod-pin"`)), bytes.Contains(line, []byte(`"type":"stock-tick"`))
	if !pin && !tick {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if pin {
		v.pins = append(v.pins, now)
	} else {
		v.ticks = append(v.ticks, now)
	}
}

func (v *showViewer) take() (pins, ticks []int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	pins, ticks = v.pins, v.ticks
	v.pins, v.ticks = nil, nil
	return pins, ticks
}

func (v *showViewer) sendHearts(ctx context.Context) {
	for n := 10; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rand.Int64N(int64(2 * v.plan.HeartEvery)))):
		}
		heart := fmt.Sprintf(`{"id":%d,"publish":{"channel":"room:%s","data":{"type":"heart","data":{"count":1}}}}`, n, v.plan.Room)
		if v.ws.Write(ctx, websocket.MessageText, []byte(heart)) != nil {
			return
		}
	}
}
