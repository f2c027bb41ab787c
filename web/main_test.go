package web_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"showfloor/internal/testkit/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }

// camera is locked while a test uses the pretended camera: two tabs that open it at the same moment sometimes both wait for it forever.
var camera struct {
	sync.Mutex
	owner atomic.Pointer[testing.T]
}

// tabWithDevices opens a tab with a camera and a microphone. It waits until no other test has one.
func tabWithDevices(t *testing.T) context.Context {
	t.Helper()
	if camera.owner.Load() != t {
		camera.Lock()
		camera.owner.Store(t)
		t.Cleanup(func() { camera.owner.Store(nil); camera.Unlock() })
	}
	return browsertest.NewWithDevices(t)
}
