package mediagate_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/testkit/apitest"
)

// TestTheHeartbeatRecordsTheAudience checks that the overview soon counts new
// players of this node.
func TestTheHeartbeatRecordsTheAudience(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	conn := id.New(id.Publisher)
	r.attach(t, r.admit(t, conn), conn)
	r.reports.Playable(r.id, conn)
	apitest.Until(t, "the broadcast", func() bool { return r.status(t) == "LIVE" })
	st, ok := r.Hub.Stream(r.id)
	require.True(t, ok)
	st.AddViewers(3)
	watching, stop := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { r.reports.Watch(watching) })
	defer watch.Wait()
	defer stop()
	apitest.Until(t, "the sample", func() bool {
		var o api.Overview
		r.owner.Call(t, "GET", "/v1/me/overview", nil).Into(t, 200, &o)
		return o.ViewersNow == 3
	})
}
