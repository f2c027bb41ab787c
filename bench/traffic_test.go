package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// traffic is the configuration of a child process: clients with connections of
// their own that send requests, chosen by weight, for a time.
type traffic struct {
	Addr    string        `json:"addr"`
	Tokens  []string      `json:"tokens"` // distributed over the clients
	Clients int           `json:"clients"`
	For     time.Duration `json:"for"`
	// Pause is a client's average pause between an answer and its next request.
	Pause time.Duration `json:"pause"`
	Calls []call        `json:"calls"`
}

// call is one kind of request.
type call struct {
	Name   string `json:"name"`
	Weight int    `json:"weight"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Body is sent with {n} replaced by a number that rises from 1000.
	Body string `json:"body"`
}

// outcome is the clients' result.
type outcome struct {
	// Took is the time of each request, by call, in the order of the answers.
	Took map[string][]time.Duration `json:"took"`
	// Statuses counts answers by status; 0 stands for a broken connection.
	Statuses map[int]int `json:"statuses"`
}

// of joins the times of the named calls, or of all if none is named.
func (o *outcome) of(names ...string) []time.Duration {
	var all []time.Duration
	for name, took := range o.Took {
		if len(names) == 0 {
			all = append(all, took...)
		}
		for _, n := range names {
			if n == name {
				all = append(all, took...)
			}
		}
	}
	return all
}

func (o *outcome) failures() (n int) {
	for status, count := range o.Statuses {
		if status == 0 || status >= http.StatusInternalServerError {
			n += count
		}
	}
	return n
}

const trafficEnv = "SHOWFLOOR_BENCH_TRAFFIC"

// start starts a child process that makes the traffic; wait waits for its end.
func (t traffic) start(b *testing.B) (wait func() outcome) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTraffic$", "-test.v=false")
	order, err := json.Marshal(t)
	require.NoError(b, err)
	cmd.Env = append(os.Environ(), trafficEnv+"="+string(order))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill() }) // has an effect only if the benchmark failed
	return func() outcome {
		b.Helper()
		var o outcome
		require.NoError(b, json.NewDecoder(out).Decode(&o))
		_, _ = io.Copy(io.Discard, out)
		require.NoError(b, cmd.Wait())
		return o
	}
}

// TestTraffic is the traffic's process. As a test it does nothing.
func TestTraffic(t *testing.T) {
	order := os.Getenv(trafficEnv)
	if order == "" {
		t.Skip("runs as a child of the benchmarks")
	}
	var o traffic
	require.NoError(t, json.Unmarshal([]byte(order), &o))
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(o.run()))
}

func (t traffic) run() outcome {
	total := outcome{Took: map[string][]time.Duration{}, Statuses: map[int]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	until := time.Now().Add(t.For)
	for i := range t.Clients {
		wg.Go(func() {
			token := ""
			if len(t.Tokens) > 0 {
				token = t.Tokens[i%len(t.Tokens)]
			}
			took, statuses := t.client(token, until)
			mu.Lock()
			defer mu.Unlock()
			for name, list := range took {
				total.Took[name] = append(total.Took[name], list...)
			}
			for status, n := range statuses {
				total.Statuses[status] += n
			}
		})
	}
	wg.Wait()
	return total
}

// client sends one request after the other. If the connection breaks, it opens
// another one.
func (t traffic) client(token string, until time.Time) (took map[string][]time.Duration, statuses map[int]int) {
	took, statuses = map[string][]time.Duration{}, map[int]int{}
	for time.Now().Before(until) {
		err := t.connection(token, until, took, statuses)
		if err != nil {
			fmt.Fprintln(os.Stderr, "traffic:", err)
			statuses[0]++
		}
	}
	return took, statuses
}

func (t traffic) connection(token string, until time.Time, took map[string][]time.Duration, statuses map[int]int) error {
	conn, err := net.Dial("tcp", t.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for time.Now().Before(until) {
		if t.Pause > 0 {
			<-time.After(rand.N(2 * t.Pause))
		}
		c := t.choose()
		start := time.Now()
		if _, err := io.WriteString(conn, c.text(token)); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		took[c.Name] = append(took[c.Name], time.Since(start))
		statuses[resp.StatusCode]++
		if resp.Close {
			return errors.New("the server closed the connection")
		}
	}
	return nil
}

func (t traffic) choose() call {
	total := 0
	for _, c := range t.Calls {
		total += c.Weight
	}
	n := rand.IntN(total)
	for _, c := range t.Calls {
		if n -= c.Weight; n < 0 {
			return c
		}
	}
	return t.Calls[0]
}

// raised counts the requests of all clients of the process; bodies contain it.
var raised atomic.Int64

// text returns the request as it is sent.
func (c call) text(token string) string {
	c.Body = strings.Replace(c.Body, "{n}", strconv.FormatInt(1000+raised.Add(1), 10), 1)
	text := c.Method + " " + c.Path + " HTTP/1.1\r\nHost: localhost\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	if c.Body != "" {
		text += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(c.Body))
	} else if c.Method != http.MethodGet {
		text += "Content-Length: 0\r\n"
	}
	return text + "\r\n" + c.Body
}
