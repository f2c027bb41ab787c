package realtimetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Count subscribes a minimal client to a room and calls heard with the number of
// occurrences of mark in the received bytes. It doesn't decode anything, so that
// a benchmark measures the server. The connection is closed when the test ends.
func Count(t testing.TB, url, token, room, mark string, heard func(n int)) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // fails if the server has closed it
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", Path)
	if err != nil {
		t.Fatal(err)
	}
	// The client may send nothing before the answer.
	answer := make([]byte, 1<<10)
	for got := 0; !bytes.Contains(answer[:got], []byte("\r\n\r\n")); {
		n, err := conn.Read(answer[got:])
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	commands := fmt.Sprintf("{\"id\":1,\"connect\":{\"token\":%q}}\n{\"id\":2,\"subscribe\":{\"channel\":%q}}", token, "room:"+room)
	if _, err := conn.Write(masked(commands)); err != nil {
		t.Fatal(err)
	}
	subscribed := make(chan struct{})
	go func() {
		buffer, word, ready := make([]byte, 64<<10), []byte(mark), false
		kept := 0 // bytes from before, in which the mark may have begun
		for {
			n, err := conn.Read(buffer[kept:])
			if err != nil {
				return
			}
			n += kept
			if !ready && bytes.Contains(buffer[:n], []byte(`"subscribe":`)) {
				ready = true
				close(subscribed)
			}
			if found := bytes.Count(buffer[:n], word); found > 0 {
				heard(found)
			}
			kept = copy(buffer, buffer[max(n-len(word)+1, 0):n])
		}
	}()
	select {
	case <-subscribed:
	case <-time.After(patience):
		t.Fatal("not subscribed")
	}
}

// masked returns a text frame of a client. Its mask is 0, so that the text
// doesn't change.
func masked(text string) []byte {
	frame := []byte{0x81, 0x80 | byte(min(len(text), 126))}
	if len(text) >= 126 {
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(text)))
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, text...)
}
