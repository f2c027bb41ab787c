package restream_test

import (
	"strings"
	"testing"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/bluenviron/gortmplib/pkg/message"
	"github.com/stretchr/testify/require"
)

// TestATargetThatSendsWithoutEnd fails the route, in each part of a connection.
func TestATargetThatSendsWithoutEnd(t *testing.T) {
	t.Parallel()
	flood := func(c *peer) error {
		for {
			if err := c.Write(&message.Acknowledge{Value: 1}); err != nil {
				return err
			}
		}
	}
	for name, p := range map[string]*target{
		"in the dialogue": {command: func(_ int64, c *peer, cmd *message.CommandAMF0) (bool, error) {
			if cmd.Name == "createStream" {
				return true, flood(c)
			}
			return false, nil
		}},
		"with the media": {media: func(_ int64, c *peer, m message.Message) error {
			if _, ok := m.(*message.Video); ok {
				return flood(c)
			}
			return nil
		}},
		"in long messages": {media: func(_ int64, c *peer, m message.Message) error {
			if _, ok := m.(*message.Video); !ok {
				return nil
			}
			for {
				long := amf0.Data{strings.Repeat("x", 50<<10)}
				if err := c.Write(&message.DataAMF0{ChunkStreamID: 5, MessageStreamID: 7, Payload: long}); err != nil {
					return err
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newTarget(t, p)
			r := newRig(t)
			r.feed(units(t), 100)
			r.route("one", p.url())
			require.Equal(t, "the target sends more data than a server that receives a stream: check its address", r.reason("one"))
			require.EqualValues(t, 1, p.conns.Load())
		})
	}
}
