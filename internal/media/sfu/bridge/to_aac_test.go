package bridge

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

// opusPackets returns a clip of Opus as of a browser: a second of silence, then a tone.
func opusPackets(t testing.TB, seconds string) [][]byte {
	t.Helper()
	raw := encode(t, "-f", "lavfi", "-i", "aevalsrc=if(gt(t\\,1)\\,sin(2764*t)\\,0):s=48000:d="+seconds, "-ac", "2",
		"-c:a", "libopus", "-b:a", "64k", "-frame_duration", "20", "-f", "ogg", "-page_duration", "20000", "pipe:1")
	in, _, err := oggreader.NewWith(bytes.NewReader(raw))
	require.NoError(t, err)
	var list [][]byte
	for {
		packet, _, err := in.ParseNextPage()
		if err != nil {
			return list
		}
		if !bytes.HasPrefix(packet, []byte("OpusTags")) {
			list = append(list, packet)
		}
	}
}

// broadcast returns a feed with AAC, and a reader for each audio codec.
func broadcast(t *testing.T, c Share) (*Feed, *hub.Reader, *hub.Reader, error) {
	t.Helper()
	h := hub.New(hub.Config{})
	t.Cleanup(h.Close)
	p, err := h.Publish(hub.Broadcast{StreamID: "a"}, "p", nil)
	require.NoError(t, err)
	feed := NewFeed(p, func() {})
	err = feed.ConvertSound(c, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		feed.Close()
		require.Zero(t, c.Running())
	})
	return feed, p.Stream().Subscribe(), p.Stream().SubscribeTo(hub.Selection{Sound: hub.AAC}), err
}

// sing feeds a packet with a time of so many frames after the first one.
func sing(t *testing.T, feed *Feed, sequence, frame int, packet []byte) {
	t.Helper()
	at := time.Duration(frame) * opusFrame
	p := &rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: uint16(sequence), Timestamp: uint32(frame * 960)}, Payload: packet}
	require.NoError(t, feed.Audio(p, time.Unix(1000, 0).Add(at)))
}

// frames reads AAC frames up to a time.
func frames(t *testing.T, r *hub.Reader, until time.Duration) []*hub.Unit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var list []*hub.Unit
	for {
		u, err := r.Next(ctx)
		require.NoError(t, err, "after %d frames", len(list))
		require.Equal(t, hub.AAC, u.Track.Codec)
		list = append(list, u)
		if u.DTS >= until {
			return list
		}
	}
}

// paced feeds packets as fast as the conversion can take them.
func paced(t *testing.T, feed *Feed, packets [][]byte, skip func(i int) bool) {
	t.Helper()
	sequence := 0
	for i, packet := range packets {
		if skip(i) {
			continue
		}
		follow(t, feed)
		sing(t, feed, sequence, i, packet)
		sequence++
	}
}

// follow waits until the conversion isn't far behind.
func follow(t *testing.T, feed *Feed) {
	t.Helper()
	feed.mu.Lock()
	e := feed.aac.encoder
	feed.mu.Unlock()
	if e == nil {
		return
	}
	require.Eventually(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.over || e.fed-e.made < maxBehind/2
	}, 20*time.Second, time.Millisecond)
}

// onset is when the tone begins in the AAC, by the frames' times.
func onset(t *testing.T, units []*hub.Unit) time.Duration {
	t.Helper()
	var all mpeg4audio.ADTSPackets
	for _, u := range units {
		all = append(all, &mpeg4audio.ADTSPacket{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: audioRate, ChannelConfig: 2, AU: u.Data})
	}
	raw, err := all.Marshal()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-f", "aac", "-i", "pipe:0", "-ac", "1", "-f", "s16le", "pipe:1")
	cmd.Stdin = bytes.NewReader(raw)
	samples, err := cmd.Output()
	require.NoError(t, err)
	for i := 0; i+1 < len(samples); i += 2 {
		if v := int16(binary.LittleEndian.Uint16(samples[i:])); math.Abs(float64(v)) > 3000 {
			frame := i / 2 / aacFrame
			return units[frame].DTS + time.Duration(i/2-frame*aacFrame)*time.Second/audioRate
		}
	}
	return -1
}

func TestABroadcastsSoundComesInAACToo(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	feed, own, converted, err := broadcast(t, c)
	require.NoError(t, err)
	packets := opusPackets(t, "4")
	lost := func(i int) bool { return i%40 == 7 || i >= 120 && i < 130 } // single packets, and 200 ms
	paced(t, feed, packets, lost)
	units := frames(t, converted, 3500*time.Millisecond)
	require.Equal(t, silentAAC, string(units[0].Data), "sound is declared at once")
	for i, u := range units[2:] {
		require.InDelta(t, float64(aacFrame*time.Second/audioRate), float64(u.DTS-units[i+1].DTS), float64(maxSlip), "frame %d", i+2)
	}
	require.EqualValues(t, 1, c.Started(), "losses need no other process")
	// The decoder needs a frame or two to start.
	require.InDelta(t, float64(time.Second), float64(onset(t, units[1:])), float64(40*time.Millisecond), "in step with the Opus")
	for i := range len(packets) - 20 {
		if lost(i) {
			continue
		}
		u, err := own.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, hub.Opus, u.Track.Codec)
		require.Equal(t, packets[i], u.Data)
	}
}

func TestAACGoesOnAfterAPause(t *testing.T) {
	t.Parallel()
	c := NewConverters(1).For("acme")
	feed, _, converted, err := broadcast(t, c)
	require.NoError(t, err)
	packets := opusPackets(t, "3")
	const pause = 60 * 50 // frames: a minute
	sequence := 0
	for i, packet := range packets {
		frame := i
		if i >= 75 {
			frame += pause
		}
		follow(t, feed)
		sing(t, feed, sequence, frame, packet)
		sequence++
		if i == 74 { // audio still in the process at the start of the pause is not written after the pause
			frames(t, converted, time.Duration(max(frame-20, 0))*opusFrame)
		}
	}
	units := frames(t, converted, (pause+130)*opusFrame)
	on := slices.IndexFunc(units, func(u *hub.Unit) bool { return u.DTS >= (pause+75)*opusFrame })
	require.Positive(t, on)
	require.Less(t, units[on-1].DTS, 76*opusFrame)
	require.InDelta(t, float64((pause+75)*opusFrame), float64(units[on].DTS), float64(aacFrame*time.Second/audioRate))
	for i, u := range units[on+1:] {
		require.InDelta(t, float64(aacFrame*time.Second/audioRate), float64(u.DTS-units[on+i].DTS), float64(maxSlip))
	}
	require.EqualValues(t, 1, c.Started())
}

func TestWithoutAConverterABroadcastHasOpusAlone(t *testing.T) {
	t.Parallel()
	feed, _, converted, err := broadcast(t, NewConverters(0).For("acme"))
	require.True(t, errors.Is(err, errAllConverted) || errors.Is(err, errNoConverter))
	for i, packet := range opusPackets(t, "1") {
		sing(t, feed, i, i, packet)
	}
	u, err := converted.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, hub.Opus, u.Track.Codec)
}
