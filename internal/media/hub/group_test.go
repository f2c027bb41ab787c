package hub

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAReaderMayBeginWithTheLastKeyPicture(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pictures, size, keyEvery int
		interval                 time.Duration
		want                     int
	}{
		"a group":                  {10, 1000, 100, 40 * time.Millisecond, 10},
		"the newest of two groups": {10, 1000, 6, 40 * time.Millisecond, 4},
		"two seconds":              {51, 1000, 100, 40 * time.Millisecond, 51},
		"longer":                   {52, 1000, 100, 40 * time.Millisecond, 0},
		"larger":                   {11, 100_000, 100, 40 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := New(Config{})
			defer h.Close()
			p, err := h.Publish(Broadcast{StreamID: "a"}, "p", nil)
			require.NoError(t, err)
			for i := range c.pictures {
				at := time.Duration(i) * c.interval
				require.NoError(t, p.Write(&Unit{Track: picture, Key: i%c.keyEvery == 0, DTS: at, PTS: at, Data: make([]byte, c.size)}))
				require.NoError(t, p.Write(&Unit{Track: sound, Key: true, DTS: at, PTS: at}))
			}
			r := p.Stream().SubscribeTo(Selection{Recent: true})
			require.NoError(t, p.Write(&Unit{Track: sound, Key: true, DTS: time.Hour}))
			for i := range c.want {
				u, err := r.Next(t.Context())
				require.NoError(t, err)
				require.Equal(t, picture, u.Track)
				require.Equal(t, i == 0, u.Key)
			}
			u, err := r.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, time.Hour, u.DTS, "then what is new")
		})
	}
}
