package sfu

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pion/transport/v4/packetio"
	"github.com/stretchr/testify/require"
)

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"type":"offer","id":1,"sdp":"v=0\r\n","tracks":[{"mid":"0","source":"microphone"}]}`, `{"type":"answer","id":1,"sdp":"v=0"}`,
		`{"type":"candidate","pc":"publish","candidate":{"candidate":"x"}}`, `{"type":"restart","pc":"subscribe"}`,
		`{"type":"mute","id":"trk_1","muted":true}`, `{"type":"view","tracks":[{"id":"trk_1","width":640.5,"height":360,"hidden":false}]}`,
		`{"type":"data","to":["bob"],"topic":"x","payload":"y"}`, `{"type":"leave"}`, `{"type":"ping","time":1.5}`, `{`, `[]`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		_ = m.re()
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(m.Payload), maxPayload)
		require.LessOrEqual(t, len(m.Views), maxViews)
		for _, v := range m.Views {
			require.True(t, v.Width >= 0 && v.Width <= maxPixels && v.Height >= 0 && v.Height <= maxPixels)
		}
		if m.Type == typePing {
			require.True(t, json.Valid(encode(pongMessage{typePong, m.Time})))
		}
	})
}

func FuzzOffer(f *testing.F) {
	f.Add("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\n" +
		"a=rtpmap:96 VP8/90000\r\na=rid:q send\r\na=simulcast:send q;~h,x;f recv z\r\na=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := readOffer(text, Limits{}.withDefaults())
		if err != nil {
			return
		}
		for _, s := range d.sections {
			d.direct(s, "inactive")
			require.Equal(t, "inactive", directionOf(s.media))
		}
		_, err = d.text()
		require.NoError(t, err)
	})
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	o := newOutbox(func() time.Time { return now }, time.Minute)
	require.True(t, o.add([]byte(`{"type":"a"}`)))
	require.True(t, o.add([]byte(`{"type":"b"}`)))
	batch, last := o.take()
	require.False(t, last)
	require.Equal(t, [][]byte{[]byte(`{"type":"a","seq":1}`), []byte(`{"type":"b","seq":2}`)}, batch)
	require.True(t, o.add([]byte(`{"type":"c"}`)))

	require.False(t, o.resume(4), "never said")
	require.True(t, o.resume(1))
	batch, _ = o.take()
	require.Equal(t, [][]byte{[]byte(`{"type":"b","seq":2}`), []byte(`{"type":"c","seq":3}`)}, batch)
	require.True(t, o.resume(3))
	batch, _ = o.take()
	require.Empty(t, batch)

	now = now.Add(2 * time.Minute)
	require.True(t, o.add([]byte(`{"type":"d"}`)))
	_, _ = o.take()
	require.False(t, o.resume(2), "forgotten")
	require.True(t, o.resume(3))

	for range maxWaits + 10 {
		if !o.add([]byte(`{"type":"e"}`)) {
			o.end([]byte(`{"type":"bye"}`))
			batch, last = o.take()
			require.True(t, last)
			require.Contains(t, string(batch[len(batch)-1]), "bye")
			require.False(t, o.resume(o.seq))
			return
		}
	}
	t.Fatal("no client is ever slow")
}

func TestBogusSSRCs(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Addr: "127.0.0.1:0", Gate: rejectAll{}, Limits: Limits{SSRCs: 10}})
	require.NoError(t, err)
	ended := 0
	in := newIntake(s, func() { ended++ })
	for ssrc := range uint32(20) {
		_, err := in.buffer(packetio.RTPBufferPacket, ssrc).Write(make([]byte, 100))
		require.NoError(t, err)
	}
	require.Equal(t, 1, ended)
	require.Equal(t, uint64(20), s.Stats().PacketsIn)
}

type rejectAll struct{ Gate }

func TestSameCodec(t *testing.T) {
	t.Parallel()
	list := pictures()
	for i, a := range list {
		for j, b := range list {
			same := sameCodec(a.RTPCodecCapability, b.RTPCodecCapability)
			baseline := (i == 2 || i == 4) && (j == 2 || j == 4)
			rtx := i%2 == 1 && j%2 == 1
			require.Equal(t, i == j || baseline || rtx, same, "%v %v", a, b)
		}
	}
}
