package sfu_test

import (
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/sfu/forward"
	"showfloor/internal/media/sfu/sfutest"
)

// play writes audio packets to a track until the test ends.
func play(t *testing.T, track *forward.Track) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-done
	})
	go func() {
		defer close(done)
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for seq := uint16(1); ; seq++ {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			p := rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: seq, Timestamp: uint32(seq) * 960, SSRC: 1}, Payload: []byte{0x78, 1, 2, 3}}
			if raw, err := p.Marshal(); err == nil {
				track.Write(0, raw)
			}
		}
	}()
}

// TestFiveHundredTracks: a participant that joins a room with 500 tracks is offered all of them,
// and its answer is short enough.
func TestFiveHundredTracks(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.join(t, "ada:host", func(o *sfutest.Options) { o.Deaf, o.Check = true, nil })
	tracks := r.server.Fill("sess_1", 500)
	last := tracks[498]
	play(t, last)
	began := time.Now()
	bob := r.join(t, "bob", func(o *sfutest.Options) { o.Check = nil })
	bob.Hears(t, last.ID(), 5)
	t.Logf("heard after %s", time.Since(began))
	for _, m := range bob.Messages() {
		require.NotEqual(t, "error", m.Type, m.Message)
		if m.Type == "offer" {
			t.Logf("an offer of %d KiB", len(m.SDP)>>10)
		}
	}
}
