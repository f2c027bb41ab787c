package dbtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
)

// Loss loses answers of the database: the statement runs and commits, and then the
// connection breaks. A client sees the same if a database stalls for longer than the
// client's time limit.
type Loss struct {
	mu   sync.Mutex
	text string
	lost int
}

// NewLossy returns a pool to a database of the test's own, and the Loss that can lose
// its answers.
func NewLossy(t testing.TB) (*pgxpool.Pool, *Loss) {
	t.Helper()
	l := &Loss{}
	config := New(t).Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = postgres.MarkDial(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lossyConn{Conn: conn, loss: l, prepared: map[string]string{}}, nil
	})
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, l
}

// Next loses the answer to the next statement whose text contains this, such as the
// name of a query or "commit".
func (l *Loss) Next(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

// Lost is how many answers were lost.
func (l *Loss) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// takes reports whether the answer to this statement must be lost.
func (l *Loss) takes(statement string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" || !strings.Contains(statement, l.text) {
		return false
	}
	l.text = ""
	l.lost++
	return true
}

// lossyConn parses the client's messages (PostgreSQL's frontend protocol, version 3).
type lossyConn struct {
	net.Conn

	loss *Loss
	// sent is the beginning of a message that the client has not written completely.
	sent []byte
	// started: the start-up message, which has no type byte, was sent.
	started bool
	// prepared are the texts of statements by name.
	prepared map[string]string
	// mu guards losing, which Write sets and Read reads.
	mu     sync.Mutex
	losing bool
}

// Write forwards the client's messages.
func (c *lossyConn) Write(b []byte) (int, error) {
	c.sent = append(c.sent, b...)
	for c.next() {
	}
	return c.Conn.Write(b)
}

// next looks at one whole message, if there is one.
func (c *lossyConn) next() bool {
	header := 5 // type and length; the length counts itself
	if !c.started {
		header = 4
	}
	if len(c.sent) < header {
		return false
	}
	size := header - 4 + int(binary.BigEndian.Uint32(c.sent[header-4:]))
	if len(c.sent) < size {
		return false
	}
	kind, body := c.sent[0], c.sent[header:size]
	c.sent = c.sent[size:]
	if !c.started {
		c.started = true
		return true
	}
	c.look(kind, body)
	return true
}

func (c *lossyConn) look(kind byte, body []byte) {
	first, rest, _ := bytes.Cut(body, []byte{0})
	second, _, _ := bytes.Cut(rest, []byte{0})
	var statement string
	switch kind {
	case 'P': // Parse: name, text
		c.prepared[string(first)] = string(second)
		return
	case 'B': // Bind: portal, name
		statement = c.prepared[string(second)]
	case 'Q': // Query: text
		statement = string(first)
	default:
		return
	}
	if c.loss.takes(statement) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.losing = true
	}
}

// Read discards the answer that must be lost, up to ReadyForQuery, which means that the
// statement is committed.
func (c *lossyConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	losing := c.losing
	c.mu.Unlock()
	if !losing {
		return c.Conn.Read(b)
	}
	for {
		var header [5]byte
		if _, err := io.ReadFull(c.Conn, header[:]); err != nil {
			return 0, err
		}
		if _, err := io.CopyN(io.Discard, c.Conn, int64(binary.BigEndian.Uint32(header[1:]))-4); err != nil {
			return 0, err
		}
		if header[0] == 'Z' {
			_ = c.Close()
			return 0, io.ErrUnexpectedEOF
		}
	}
}
