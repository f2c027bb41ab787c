package walk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// settled is true when the screen with this heading has loaded.
func settled(heading string) string {
	return `document.querySelector("h1")?.textContent === ` + quoted(heading) +
		` && !document.querySelector(".mantine-Skeleton-root, .mantine-datatable-loader-fetching")`
}

// shows waits until the screen with this heading has loaded, and looks at it.
func (c *console) shows(heading, name string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, settled(heading))
	c.looks(name)
}

// publishes puts a stream on air, without media.
func publishes(t *testing.T, s *apitest.Server, st api.Stream) {
	t.Helper()
	conn := id.New(id.Publisher)
	attempt := stream.Attempt{PublisherID: conn, Source: stream.SourceRTMP, Key: st.StreamKey, RemoteIP: "192.0.2.1"}
	_, err := s.Streams.Publish(t.Context(), attempt)
	require.NoError(t, err)
	_, err = s.Streams.Started(t.Context(), conn)
	require.NoError(t, err)
}

func TestAdminStopsAStream(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	first := owner.Stream(t, map[string]any{"name": "Morning <i>show</i>"})
	second := owner.Stream(t, map[string]any{"name": "Evening show with a name that is longer than a card of the wall is wide"})
	publishes(t, c.s, first)
	publishes(t, c.s, second)

	c.enters("/", admin)
	c.shows("Dashboard", "admin-dashboard")
	c.opens("/admin/live?tenantId=" + owner.TenantID)
	c.sees("Morning <i>show</i>")
	c.shows("On air now", "admin-live")
	c.clicks("Evening show with a name that is longer than a card of the wall is wide")
	c.sees("192.0.2.1")
	c.shows(second.Name, "admin-stream")

	c.clicks("Revoke")
	c.types("reason", "leaked in a picture")
	c.clicks("confirm")
	c.sees("Revoked")
	c.sees("leaked in a picture")
	var detail api.AdminStreamDetail
	admin.Call(t, "GET", "/v1/admin/streams/"+second.ID, nil).Into(t, 200, &detail)
	require.Equal(t, "ENDED", string(detail.Stream.Status), "the key's broadcast ends")

	c.opens("/admin/live?tenantId=" + owner.TenantID)
	c.clicks("Stop the stream")
	c.types("reason", "forbidden pictures")
	c.looks("admin-live-stop")
	c.clicks("confirm")
	c.sees("No stream is on air")
	c.looks("admin-live-empty")
	admin.Call(t, "GET", "/v1/admin/streams/"+first.ID, nil).Into(t, 200, &detail)
	require.Equal(t, "ENDED", string(detail.Stream.Status))
	require.False(t, detail.Stream.BlockedUntil.IsNull())

	c.clicks("Streams")
	c.sees("Morning <i>show</i>")
	c.shows("Streams", "admin-streams")
	c.complains(refusedFirst, "404") // there is no media, and so no picture
}
