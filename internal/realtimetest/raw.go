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

// Count lets a viewer hear a room that costs next to nothing, so that a benchmark
// measures the server: it counts what comes by a mark and reads nothing of it.
// The connection ends with the test.
func Count(t testing.TB, url, token, room, mark string, heard func(n int)) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have done so
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", Path)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing may be sent before the answer.
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
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			if !ready && bytes.Contains(buffer[:n], []byte(`"subscribe":`)) {
				ready = true
				close(subscribed)
			}
			if found := bytes.Count(buffer[:n], word); found > 0 {
				heard(found)
			}
		}
	}()
	select {
	case <-subscribed:
	case <-time.After(patience):
		t.Fatal("not subscribed")
	}
}

// masked is a text frame from a client; its mask changes nothing.
func masked(text string) []byte {
	frame := []byte{0x81, 0x80 | byte(min(len(text), 126))}
	if len(text) >= 126 {
		frame = binary.BigEndian.AppendUint16(frame, uint16(len(text)))
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, text...)
}
