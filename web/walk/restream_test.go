package walk_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/streams/restream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

const (
	targetsPath  = "/v1/me/restream/targets"
	restreamPath = "/v1/me/restream/streams/"
	goodKey      = "the-right-key"
)

// keyGate is the gate of an RTMP server that knows one stream key.
type keyGate string

func (g keyGate) Publish(_ context.Context, a rtmp.Attempt) (hub.Broadcast, error) {
	if a.Key != string(g) {
		return hub.Broadcast{}, &rtmp.StatusError{Code: "NetStream.Publish.BadName", Description: "unknown key"}
	}

	return hub.Broadcast{StreamID: "there"}, nil
}
func (keyGate) Rejected(context.Context, string, string) {}
func (keyGate) Unpublish(context.Context, string)        {}

// platformServer starts an RTMP server that knows goodKey, and returns its address before the key.
func platformServer(t *testing.T) string {
	t.Helper()
	h := hub.New(hub.Config{})
	server, err := rtmp.New(rtmp.Config{Addr: "127.0.0.1:0", Hub: h, Gate: keyGate(goodKey), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(t, server.Stop(ctx))
		h.Close()
	})

	return "rtmp://" + server.Addr().String() + "/live"
}

func routesOf(t *testing.T, owner *apitest.Caller, streamID string) []api.RestreamRoute {
	t.Helper()

	return get[[]api.RestreamRoute](t, owner, restreamPath+streamID)
}

// lacks fails if the page has a button with one of the names.
func (c *console) lacks(names ...string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!document.querySelector(".mantine-Skeleton-root, .mantine-datatable-loader-fetching")`)
	for _, name := range names {
		found := browsertest.Value[bool](c.t, c.tab, `[...document.querySelectorAll("main button")].some((b) =>
			b.textContent.trim() === `+quoted(name)+` || b.getAttribute("aria-label") === `+quoted(name)+`)`)
		require.False(c.t, found, "the page offers %q", name)
	}
}

// photographs takes pictures of the part of the page below a heading.
func (c *console) photographs(name, heading string) {
	c.t.Helper()
	if !browsertest.Pictures() {
		return
	}
	for _, look := range browsertest.Appearances(deskWidth, deskHeight) {
		look.Apply(c.t, c.tab)
		c.evaluates(`[...document.querySelectorAll("h2")].find((h) => h.textContent === ` + quoted(heading) + `).scrollIntoView();
			window.scrollBy(0, -80)`)
		browsertest.Screenshot(c.t, c.tab, name+"-"+look.Name)
	}
	c.evaluates(`window.scrollTo(0, 0)`)
}

func TestUserAddsRestreamTargets(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/restream")
	c.sees("There are no targets yet")
	c.looks("restream-empty")
	c.clicks("new-target")
	c.types("name", "Our <b>channel")
	c.chooses("Platform", "Twitch")
	c.sees("In the Creator Dashboard of Twitch")
	c.evaluates(`document.querySelector("[role=dialog] form").noValidate = true`)
	c.clicks("submit")
	c.sees("Write the stream key too")
	c.types("streamKey", "live_4711 _secret")
	c.clicks("submit")
	c.sees("Write the key without spaces")
	c.looks("restream-new")
	c.types("streamKey", "live_4711_secret")
	c.clicks("submit")
	c.sees("Our <b>channel")
	made := get[[]api.RestreamTarget](t, owner, targetsPath)
	require.Len(t, made, 1)
	require.Equal(t, []any{"twitch", "Our <b>channel"}, []any{made[0].Platform, made[0].Name})
	require.NotContains(t, browsertest.Value[string](t, c.tab, `document.documentElement.outerHTML`), "live_4711")

	// The server's fault of the address is next to its field, and the rest stays.
	c.clicks("new-target")
	c.types("name", "Website")
	c.chooses("Platform", "Another RTMP server")
	c.types("server", "http://example.test")
	c.types("streamKey", goodKey)
	c.clicks("submit")
	c.sees("Write the address as the platform shows it")
	c.types("server", "rtmp://user:word@example.test/app")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[name=server][aria-invalid=true]")`)
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[role=dialog] [role=alert]")`)
	require.Equal(t, goodKey, browsertest.Value[string](t, c.tab, `document.querySelector("[name=streamKey]").value`))
	c.looks("restream-refused")
	c.types("server", platformServer(t))
	c.clicks("submit")
	c.sees("Website")
	c.looks("restream-targets")

	// The form begins with the kind of server that the target has.
	owner.Call(t, "POST", targetsPath, map[string]any{"name": "Backup", "platform": "youtube", "rtmpUrl": platformServer(t) + "/" + goodKey}).Is(t, 201)
	for _, target := range []struct {
		name  string
		other bool
	}{{"Backup", true}, {"Our <b>channel", false}} {
		c.opens("/console/restream")
		c.clicks("Edit " + target.name)
		c.sees("Use another server of the platform")
		require.Equal(t, target.other, browsertest.Value[bool](t, c.tab, `document.querySelector("[role=dialog] [role=switch]").checked`))
		require.Equal(t, target.other, browsertest.Value[bool](t, c.tab, `!!document.querySelector("[name=server]")`))
		if target.other {
			c.looks("restream-edit-server")
			c.types("name", "Spare")
			c.clicks("submit")
			c.sees("Spare")
		}
	}
	require.False(t, get[[]api.RestreamTarget](t, owner, targetsPath)[0].PresetServer, "another name keeps the server")
	c.clicks("Close")

	// Another name alone keeps the address.
	c.clicks("Edit Our <b>channel")
	c.types("name", "Main channel")
	c.looks("restream-edit")
	c.clicks("submit")
	c.sees("Main channel")
	c.misses("Our <b>channel")
	require.Equal(t, made[0].RtmpURL, get[[]api.RestreamTarget](t, owner, targetsPath)[2].RtmpURL)
	c.clicks("Delete Main channel")
	c.sees("forwarding to it ends in all streams")
	c.clicks("confirm")
	c.misses("Main channel")
	require.Len(t, get[[]api.RestreamTarget](t, owner, targetsPath), 2)
	c.complains(refusedFirst, "400")
}

func TestUserTestsARestreamTarget(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	target := owner.RestreamTarget(t, platformServer(t)+"/"+goodKey)

	c.signsIn(owner, "/restream")
	c.clicks("Test Our channel")
	c.sees("The platform may show this to viewers")
	c.clicks("start-test")
	c.sees("Testing since")
	c.looks("restream-testing")
	c.sees("The target accepted the stream key")
	c.looks("restream-test-good")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll("[role=dialog] .mantine-Badge-root").length === 5`)
	c.clicks("Close")

	owner.Call(t, "PATCH", targetsPath+"/"+target.ID, map[string]any{"rtmpUrl": platformServer(t) + "/a-wrong-key"}).Is(t, http.StatusOK)
	c.clicks("Test Our channel")
	c.clicks("start-test")
	c.sees("Compare the stream key with the one on the platform")
	c.sees("NetStream.Publish.BadName")
	c.looks("restream-test-bad")
	c.clicks("Close")

	// A target in use is not tested.
	st := owner.Stream(t, nil)
	owner.Call(t, "POST", restreamPath+st.ID, map[string]any{"targetIds": []string{target.ID}}).Is(t, http.StatusCreated)
	c.clicks("Test Our channel")
	c.clicks("start-test")
	c.sees("target_in_use")
	c.complains(refusedFirst, "409")
}

// forwards makes the first of three pending routes fail, the second one live, and the third one live without a connection.
func (c *console) forwards(routes []api.RestreamRoute) {
	c.t.Helper()
	const refusal = "the target refused the stream: NetStream.Publish.BadName: unknown key ***"
	require.NoError(c.t, c.s.Restreams.RouteFailed(c.t.Context(), routes[0].ID, refusal))
	require.NoError(c.t, c.s.Restreams.RouteLive(c.t.Context(), routes[1].ID))
	require.NoError(c.t, c.s.Restreams.RouteLive(c.t.Context(), routes[2].ID))
	now := c.s.Clock.Now()
	require.NoError(c.t, c.s.Restreams.SaveHealth(c.t.Context(), []restream.Health{
		{RouteID: routes[1].ID, BitrateKbps: 2627, ConnectedAt: now},
		{RouteID: routes[2].ID, DroppedFrames: 12, Reconnects: 1, LastError: "the target stopped receiving", LostAt: now},
	}))
}

func TestUserForwardsAStream(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.SetPlan(t, "PRO")
	st := owner.Stream(t, map[string]any{"name": "Morning show", "reconnectWindowSec": 300})

	c.signsIn(owner, "/streams/"+st.ID)
	c.sees("Add your channel on another platform first")
	c.looks("restream-no-target")
	for _, fields := range []map[string]any{
		{"name": "Our channel", "platform": "youtube", "streamKey": "key-one"},
		{"name": "Second <i>screen", "platform": "twitch", "streamKey": "key-two"},
		{"name": "Partner with a long name of a channel on another platform", "platform": "custom", "rtmpUrl": "rtmp://h.example/live/key-3"},
	} {
		owner.Call(t, "POST", targetsPath, fields).Is(t, http.StatusCreated)
	}
	c.opens("/console/streams/" + st.ID)
	c.sees("This stream is not forwarded")
	c.clicks("attach")
	c.sees("Forwarding starts with the next broadcast")
	for range 3 {
		c.evaluates(`document.querySelector("[role=dialog] input[type=checkbox]:not(:checked)").click()`)
	}
	c.looks("restream-attach")
	c.clicks("submit")
	c.sees("Waits for the broadcast")
	require.Len(t, routesOf(t, owner, st.ID), 3)

	// The page follows the forwarding without a reload. The encoder reconnects, so the page shows no preview.
	publishes(t, c.s, st)
	var publisher string
	require.NoError(t, c.s.Pool.QueryRow(t.Context(), "SELECT id FROM publishers WHERE stream_id = $1", st.ID).Scan(&publisher))
	require.NoError(t, c.s.Streams.Unpublish(t.Context(), publisher))
	routes := routesOf(t, owner, st.ID)
	c.forwards(routes)
	c.sees("The target refused the stream: NetStream.Publish.BadName: unknown key ***. Check the stream key")
	c.sees("2,627 kbit/s")
	c.sees("Last interruption: The target stopped receiving.")
	c.looks("restream-routes")
	c.photographs("restream-routes-list", "Restreaming")

	c.clicks("Stop forwarding to " + routes[1].Target.Name)
	c.sees("The stream and its other targets go on")
	c.clicks("confirm")
	apitest.Until(t, "the route has ended", func() bool { return routesOf(t, owner, st.ID)[1].Status == api.RestreamRouteStatusEnded })
	c.clicks("Forward again to " + routes[0].Target.Name)
	c.sees("Connecting")
	require.Len(t, routesOf(t, owner, st.ID), 4)
	c.clicks("Show earlier broadcasts")
	c.sees("Earlier broadcasts")
	c.looks("restream-history")
	c.photographs("restream-history-list", "Restreaming")
	c.complains(refusedFirst)
}

func TestRestreamIsReadByAViewerAndInGerman(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	viewer := owner.Colleague(t, tenancy.Viewer)
	target, st := owner.RestreamTarget(t, "rtmp://h.example/live/key-3"), owner.Stream(t, map[string]any{"name": "Abendschau"})
	owner.Call(t, "POST", restreamPath+st.ID, map[string]any{"targetIds": []string{target.ID}}).Is(t, http.StatusCreated)

	c.signsIn(viewer, "/restream")
	c.sees("Our channel")
	c.lacks("Neues Ziel", "Testen", "Bearbeiten", "Löschen")
	c.looks("restream-viewer")
	c.opens("/console/streams/" + st.ID)
	c.sees("Wartet auf die Sendung")
	c.lacks("An Ziele weiterleiten", "Beenden")
	require.NoError(t, c.s.Restreams.RouteFailed(t.Context(), routesOf(t, owner, st.ID)[0].ID,
		"the target couldn't be reached for 10 minutes: the target doesn't answer"))
	c.sees("Das Ziel war 10 Minuten lang nicht zu erreichen. Das Ziel antwortet nicht.")
	c.lacks("Wieder weiterleiten")
	c.looks("restream-viewer-stream")

	// An admin who acts for the tenant gets no buttons that the server refuses.
	c.impersonatesInGerman(c.s.Admin(t, platform.SuperAdmin), owner.TenantID)
	c.opens("/console/restream")
	c.sees("Our channel")
	c.lacks("Neues Ziel", "Bearbeiten")
	c.sees("Testen")
	c.complains(refusedFirst)
}

// impersonatesInGerman opens the tenant's console as its user, with a token of an admin.
func (c *console) impersonatesInGerman(root *apitest.Caller, tenantID string) {
	c.t.Helper()
	var out api.TenantImpersonation
	path := "/v1/admin/tenants/" + tenantID + "/impersonate"
	root.Call(c.t, "POST", path, map[string]any{"reason": "Ticket 4711"}).Into(c.t, http.StatusCreated, &out)
	c.opens("/console/impersonate#token=" + out.Token)
	browsertest.WaitFor(c.t, c.tab, `!!document.querySelector("h1")`)
}
