package e2e

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
)

// refusedKey begins a stream key that a receiver refuses, with a text that repeats it.
const refusedKey = "refused-"

// receiver is another platform, which accepts any other stream key, also twice at a time. It outlives the servers that forward to it.
type receiver struct {
	addr string

	mu    sync.Mutex
	conns []*received
}

// received is one publish at a receiver.
type received struct {
	key, conn string
	open      bool
	pictures  int
	// startsWithKey: the first picture is a key picture.
	startsWithKey bool
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{}
	h := hub.New(hub.Config{Outputs: []hub.Output{r}})
	s, err := rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: r, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, s.Start())
	r.addr = s.Addr().String()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, s.Stop(ctx))
		h.Close()
	})
	return r
}

// url is the address for a stream key.
func (r *receiver) url(key string) string { return "rtmp://" + r.addr + "/live/" + key }

// Publish implements rtmp.Gate. Each connection has a stream of its own.
func (r *receiver) Publish(_ context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	if strings.HasPrefix(a.Key, refusedKey) {
		return hub.Broadcast{}, &rtmp.StatusError{Code: "NetStream.Publish.BadName", Description: "unknown key " + a.Key + " of " + r.url(a.Key)}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns = append(r.conns, &received{key: a.Key, conn: a.ConnID, open: true})
	return hub.Broadcast{StreamID: a.ConnID}, nil
}

// Rejected implements rtmp.Gate.
func (*receiver) Rejected(context.Context, string, string) {}

// Unpublish implements rtmp.Gate.
func (r *receiver) Unpublish(_ context.Context, connID string) {
	r.update(connID, func(c *received) { c.open = false })
}

// Open implements hub.Output.
func (r *receiver) Open(s *hub.Stream) {
	reader := s.Subscribe()
	go func() {
		for {
			u, err := reader.Next(context.Background())
			if err != nil {
				return
			}
			if !u.Track.Codec.Video() {
				continue
			}
			r.update(s.StreamID, func(c *received) {
				if c.pictures++; c.pictures == 1 {
					c.startsWithKey = u.Key
				}
			})
		}
	}()
}

func (r *receiver) update(connID string, change func(c *received)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		if c.conn == connID {
			change(c)
		}
	}
}

// of returns the connections with a stream key, oldest first.
func (r *receiver) of(key string) (list []received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		if c.key == key {
			list = append(list, *c)
		}
	}
	return list
}

// receives waits until a connection with the stream key gets pictures that isn't one of the first ones. It begins with a key picture.
func (r *receiver) receives(t testing.TB, key string, first int) {
	t.Helper()
	var last received
	until(t, "the target "+key+" receives the stream", func() bool {
		list := r.of(key)
		if len(list) <= first {
			return false
		}
		last = list[len(list)-1]
		return last.open && last.pictures > 5
	})
	require.True(t, last.startsWithKey)
}

// only waits until one connection with the stream key is open.
func (r *receiver) only(t testing.TB, key string) {
	t.Helper()
	until(t, "one connection of "+key, func() bool {
		n := 0
		for _, c := range r.of(key) {
			if c.open {
				n++
			}
		}
		return n == 1
	})
}
