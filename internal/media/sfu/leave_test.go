package sfu_test

import (
	"fmt"
	"testing"
)

// TestLeavingLeavesNothing: who says goodbye and hangs up is gone at once, not
// when the server stops; the rig waits for everybody.
func TestLeavingLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for i := range 20 {
		c := r.join(t, fmt.Sprintf("ada%d:guest", i))
		c.Send(t, map[string]any{"type": "leave"})
		c.Close()
	}
}
