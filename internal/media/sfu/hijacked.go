package sfu

import (
	"bufio"
	"net"
	"net/http"
)

// hijacked is a ResponseWriter that keeps the network connection which a handler hijacks.
type hijacked struct {
	http.ResponseWriter

	conn net.Conn // nil before Hijack
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, buffers, err
}
