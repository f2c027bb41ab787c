package sfu_test

import (
	"fmt"
	"testing"
)

// TestLeavingLeavesNothing: a client that sends "leave" and closes its socket is removed at once,
// not when the server stops. The rig waits for all connections.
func TestLeavingLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for i := range 20 {
		c := r.join(t, fmt.Sprintf("ada%d:guest", i))
		c.Send(t, map[string]any{"type": "leave"})
		c.Close()
	}
}
