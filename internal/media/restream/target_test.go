package restream_test

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/bluenviron/gortmplib/pkg/bytecounter"
	"github.com/bluenviron/gortmplib/pkg/handshake"
	"github.com/bluenviron/gortmplib/pkg/message"
	"github.com/stretchr/testify/require"
)

// target is another implementation of a server, of which a test controls each answer.
type target struct {
	net.Listener
	conns atomic.Int64
	// command handles a command; false for the usual answer. An error closes the connection.
	command func(n int64, c *peer, cmd *message.CommandAMF0) (bool, error)
	// media handles what follows.
	media func(n int64, c *peer, m message.Message) error

	mu    sync.Mutex
	names []string
}

type peer struct{ *message.ReadWriter }

var errClose = errors.New("close")

func newTarget(t *testing.T, p *target) *target {
	t.Helper()
	var err error
	p.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var work sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	work.Go(func() {
		for {
			conn, err := p.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			n := p.conns.Add(1)
			work.Go(func() { _ = p.serve(n, conn); _ = conn.Close() })
		}
	})
	t.Cleanup(func() {
		_ = p.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		work.Wait()
	})
	return p
}

func (p *target) url() string { return "rtmp://" + p.Addr().String() + "/live/" + key }

func (p *target) serve(n int64, conn net.Conn) error {
	counter := bytecounter.NewReadWriter(conn)
	if _, _, err := handshake.DoServer(counter, true); err != nil {
		return err
	}
	c := &peer{message.NewReadWriter(counter, counter, false)}
	for {
		m, err := c.Read()
		if err != nil {
			return err
		}
		cmd, ok := m.(*message.CommandAMF0)
		if !ok {
			if p.media != nil {
				if err := p.media(n, c, m); err != nil {
					return err
				}
			}
			continue
		}
		p.mu.Lock()
		p.names = append(p.names, cmd.Name)
		p.mu.Unlock()
		if p.command != nil {
			if done, err := p.command(n, c, cmd); err != nil {
				return err
			} else if done {
				continue
			}
		}
		if err := c.answer(cmd); err != nil {
			return err
		}
	}
}

// answer gives the usual answer to a command.
func (c *peer) answer(cmd *message.CommandAMF0) error {
	switch cmd.Name {
	case "connect":
		return c.send(0, "_result", cmd.CommandID, amf0.Object{}, amf0.Object{{Key: "code", Value: "NetConnection.Connect.Success"}})
	case "createStream":
		return c.send(0, "_result", cmd.CommandID, nil, float64(7))
	case "publish":
		return c.status("status", "NetStream.Publish.Start", "go on")
	}
	return nil
}

func (c *peer) send(stream uint32, name string, id int, arguments ...any) error {
	return c.Write(&message.CommandAMF0{ChunkStreamID: 3, MessageStreamID: stream, Name: name, CommandID: id, Arguments: arguments})
}

func (c *peer) status(level, code, description string) error {
	return c.send(7, "onStatus", 0, nil, amf0.Object{
		{Key: "level", Value: level}, {Key: "code", Value: code}, {Key: "description", Value: description},
	})
}
