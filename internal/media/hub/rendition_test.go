package hub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyReadersThatWantThemGetRenditions, and a full queue loses them before the publisher's own units.
func TestOnlyReadersThatWantThemGetRenditions(t *testing.T) {
	t.Parallel()
	p, _ := publish(t, New(Config{}), Broadcast{StreamID: "a"}, "p")
	s := p.Stream()
	plain, wants := s.Subscribe(), s.SubscribeTo(Selection{Renditions: true})
	defer plain.Close()
	defer wants.Close()
	small := &Track{Codec: H264, Rendition: "480p"}
	next := func(r *Reader) *Unit {
		u, err := r.Next(t.Context())
		require.NoError(t, err)
		return u
	}
	send(t, p, picture, true, 10)
	s.WriteRendition(&Unit{Track: small, Key: true, Data: []byte{1}})
	send(t, p, picture, false, 10)
	require.Same(t, picture, next(plain).Track)
	require.Same(t, picture, next(plain).Track)
	for _, want := range []*Track{picture, small, picture} {
		require.Same(t, want, next(wants).Track)
	}
	require.Equal(t, 1280, s.Stats().Width, "the figures are the publisher's")

	for range queueUnits {
		send(t, p, picture, false, 10)
	}
	s.WriteRendition(&Unit{Track: small, Key: true, Data: []byte{1}})
	require.Same(t, picture, next(wants).Track, "the rendition's picture was lost, not the queue")
	send(t, p, picture, false, 10)
	send(t, p, picture, false, 10) // one too many: the queue is dropped up to the next key picture
	s.WriteRendition(&Unit{Track: small, Key: true, Data: []byte{1}})
	send(t, p, picture, false, 10)
	send(t, p, picture, true, 10)
	u := next(wants)
	require.Same(t, picture, u.Track)
	require.True(t, u.Key, "a key picture of a rendition is no start")
}
