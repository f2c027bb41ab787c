package oggopus

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSamples(t *testing.T) {
	t.Parallel()
	zeros := func(head string, n int) []byte { return append([]byte(head), make([]byte, n)...) }
	for name, tt := range map[string]struct {
		packet []byte
		length int64
	}{
		"silence":                      {[]byte(Silence), 960},
		"one frame":                    {zeros("\xf8", 40), 960},
		"one empty frame":              {[]byte("\xf8"), 960},
		"two equal frames":             {zeros("\xf9", 80), 1920},
		"two frames of other sizes":    {zeros("\xfa\x0a", 40), 1920},
		"a size in two bytes":          {zeros("\xfa\xfc\x01", 300), 1920},
		"six frames":                   {zeros("\xfb\x06", 60), 5760},
		"three with padding":           {zeros("\xfb\x43\x04", 34), 2880},
		"three of variable sizes":      {zeros("\xfb\x83\x05\x06", 20), 2880},
		"much padding":                 {zeros("\xfb\x41\xff\x01", 265), 960},
		"nothing":                      {nil, 0},
		"two frames of an odd size":    {zeros("\xf9", 81), 0},
		"a size beyond the end":        {zeros("\xfa\x2a", 40), 0},
		"half a size":                  {[]byte("\xfa\xfc"), 0},
		"no frames":                    {zeros("\xfb\x00", 40), 0},
		"no number of frames":          {[]byte("\xfb"), 0},
		"six frames of seven bytes":    {zeros("\xfb\x06", 7), 0},
		"padding beyond the end":       {[]byte("\x1b\x42\xff"), 0},
		"variable sizes beyond it":     {zeros("\xfb\x83\x05\x60", 20), 0},
		"more than 120 ms":             {zeros("\xfb\x07", 70), 0},
		"a frame of more than allowed": {zeros("\xf8", 1276), 0},
	} {
		require.Equal(t, tt.length, Samples(tt.packet), name)
	}
}

// TestGarbage: the length of any bytes is one that a packet can have.
func TestGarbage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	w := NewWriter(&b)
	for range 100_000 {
		packet := make([]byte, random.IntN(60))
		for i := range packet {
			packet[i] = byte(random.Uint32())
		}
		n := Samples(packet)
		require.True(t, n >= 0 && n <= Rate*120/1000)
		if n > 0 {
			w.Frame(packet, n)
		}
	}
	require.Positive(t, w.Written())
}
