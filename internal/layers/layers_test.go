// Package layers_test contains the rules for imports: which package may import which. The tests check
// them. README.md shows the groups and their imports as a picture.
package layers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "showfloor/"

// pkg is a package as `go list` describes it, without test files.
type pkg struct {
	ImportPath string
	Imports    []string
}

// rule limits the imports of the packages that match. A pattern that ends in /... matches everything
// below it.
type rule struct {
	packages string
	// may lists the patterns of our packages that may be imported; nil for any.
	may []string
	// never lists patterns of import paths that must not be imported, ours or others'.
	never []string
	why   string
}

// groups has one rule for each group of areas, from the lowest to the highest. A package of a group
// may also import the packages of its own group.
func groups() []rule {
	return []rule{
		{
			packages: "internal/base/...", may: []string{},
			why: "base holds what any Go server needs; code of the product belongs into the groups above it",
		},
		{
			packages: "internal/tenancy/...", may: []string{"gen/db", "internal/base/..."},
			why: "every area imports tenancy for the caller; an import in the other direction would be a cycle",
		},
		{
			packages: "internal/outflow/...", may: []string{"gen", "gen/db", "gen/event", "internal/base/...", "internal/tenancy/..."},
			why: "outflow delivers the events and publications of every area, so it may not import one of them",
		},
		{
			packages: "internal/media/...", may: []string{"internal/base/fairshare", "internal/base/netaddr"},
			why: "the media engines may import no tenant, route or SQL; mediagate and roomgate implement the interfaces that they declare",
		},
		{
			packages: "internal/streams/...",
			may:      []string{"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/event", "internal/media/..."},
			why:      "rooms import streams, so streams may import neither rooms nor commerce",
		},
		{
			packages: "internal/rooms/...",
			may: []string{
				"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/ai", "internal/outflow/event", "internal/outflow/push",
				"internal/outflow/realtime", "internal/streams/mediagate", "internal/media/...",
			},
			why: "rooms may not import commerce or webhook: areas.Areas joins rooms with commerce, and webhook reads events from the database",
		},
		{
			packages: "internal/commerce/...",
			may:      []string{"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/event", "internal/outflow/realtime"},
			why:      "commerce may import neither streams nor rooms: selling works without both",
		},
		{
			packages: "internal/shows/...",
			may: []string{
				"gen/db", "internal/base/...", "internal/tenancy/...", "internal/outflow/realtime", "internal/streams/stream", "internal/streams/recording",
				"internal/rooms/session", "internal/rooms/chat", "internal/commerce/...",
			},
			why: "shows join streams, rooms and commerce for viewers; they may not import the engines, and none of the areas below imports them",
		},
		{
			packages: "internal/console/...",
			may: []string{
				"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/event", "internal/streams/stream",
				"internal/streams/playtoken", "internal/streams/recording", "internal/streams/restream",
			},
			why: "console may import no area but those of streams: a stream's detail has its recordings and routes; paths in CDNs' logs name streams by tokens; tickets emit events; areas whose activities end with a suspension implement console.Stopper",
		},
		{
			packages: "internal/document/...", may: []string{"internal/tenancy", "internal/console/platform"},
			why: "document compares the API document with roles and scopes; it may import no package with use cases",
		},
	}
}

// rules has the rules of single packages, and those that hold across the groups.
func rules() []rule {
	return []rule{
		{packages: "gen/...", may: []string{"gen/...", "internal/base/timestamp"}, why: "generated code may import no area: all areas import it. Its configuration names the type timestamp.Time"},
		{
			packages: "schema", may: []string{"internal/base/postgres"},
			why: "every database test imports the migrations; they may import no package of ours but that of the type of an index",
		},
		{packages: "web", may: []string{}, why: "the pages are embedded files; they need no package of ours"},
		{packages: "internal/base/loglimit", never: []string{"github.com/..."}, why: "it counts log lines of any kind and needs only the standard library"},
		{packages: "internal/base/problem", may: []string{}, never: []string{"github.com/..."}, why: "every package imports problem, so it may import only the standard library"},
		{packages: "internal/base/connlimit", never: []string{"github.com/..."}, why: "it counts connections of any HTTP server and needs only the standard library"},
		{packages: "internal/base/fairshare", may: []string{}, never: []string{"github.com/..."}, why: "its holders are strings, so it needs only the standard library"},
		{packages: "internal/base/netaddr", may: []string{}, never: []string{"github.com/..."}, why: "it reads addresses from HTTP requests and needs only the standard library"},
		{packages: "internal/base/ratelimit", may: []string{}, why: "its keys are strings; callers, not ratelimit, import what a key identifies"},
		{packages: "internal/base/queue", may: []string{"internal/base/postgres"}, why: "it adds jobs of any kind; their types are in the areas, which import it"},
		{packages: "internal/outflow/outbound", may: []string{"internal/base/problem"}, why: "webhooks, pushes and others use this HTTP client, so it may import none of them"},
		{packages: "internal/outflow/realtime", may: []string{"internal/base/problem"}, why: "rooms and commerce publish through it, so it may import neither"},
		{packages: "internal/commerce/processor", may: []string{"internal/base/problem"}, why: "billing, order and seller call the processor through it, so it may import none of them"},
		{packages: "internal/commerce/sandbox", may: []string{"internal/base/durable"}, why: "it replaces a third party's server in development, so it may use no code of the areas"},
		{
			packages: "internal/commerce/billing", never: []string{module + "internal/commerce/order", module + "internal/commerce/seller"},
			why: "billing may not import order or seller: they implement the interfaces through which it passes on the processor's reports",
		},
		{
			packages: "internal/commerce/order", never: []string{module + "internal/commerce/auction"},
			why: "auction imports order, because an auction ends in an order",
		},
		{
			packages: "internal/media/udp", may: []string{}, why: "it sends packets of any kind and needs no package of ours",
		},
		{
			packages: "internal/media/sfu/forward", may: []string{"internal/media/sfu/bandwidth"}, why: "it forwards packets; only sfu, which imports it, has rooms",
		},
		{
			packages: "internal/media/sfu/bandwidth", may: []string{}, why: "forward imports it; it estimates from subscribers' reports and reads no packets",
		},
		{
			packages: "internal/streams/stream", never: []string{module + "internal/media/..."},
			why: "stream may not import the media engines: mediagate implements its interface to them",
		},
		{
			packages: "internal/streams/restream",
			may: []string{
				"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/event", "internal/streams/stream",
				"internal/media/rtmpurl",
			},
			why: "restream may not import the media engines: restreamgate connects it with them; rtmpurl only parses addresses",
		},
		{packages: "internal/media/rtmpurl", may: []string{}, why: "areas and engines import it to parse addresses"},
		{
			packages: "internal/streams/recording",
			may: []string{
				"gen/db", "gen/event", "internal/base/...", "internal/tenancy/...", "internal/outflow/event", "internal/streams/stream",
				"internal/media/recordfile", "internal/media/webvtt",
			},
			why: "recording may not import the media engines: recordgate implements its interfaces to them; recordfile only names files, webvtt only parses text",
		},
		{
			packages: "internal/media/recordfile", may: []string{}, why: "areas and engines import it for the names of files",
		},
		{
			packages: "internal/rooms/session", never: []string{module + "internal/media/...", module + "internal/outflow/push"},
			why: "session may not import the media engines or pushes: roomgate implements its interface to the SFU",
		},
		{
			packages: "internal/rooms/chat", never: []string{module + "internal/media/...", module + "internal/streams/..."},
			why: "a channel works without media; chat asks for its room through an interface",
		},
		{
			packages: "internal/rooms/call", never: []string{module + "internal/media/...", module + "internal/streams/..."},
			why: "a call is a session; session, not call, knows the room's media",
		},
		{
			packages: "internal/...", never: []string{module + "gen/api", module + "gen/client", module + "handlers/...", module + "jobs", "github.com/labstack/..."},
			why: "areas may import no HTTP framework and no code of the API: handlers and jobs import them",
		},
		{
			packages: "internal/...", never: []string{module + "internal/areas", module + "internal/testkit/..."},
			why: "only handlers, jobs and commands may import all areas at once; an area gets what it needs in its Config",
		},
		{
			packages: "internal/areas", never: []string{
				module + "internal/media/...", module + "internal/streams/mediagate", module + "internal/streams/recordgate",
				module + "internal/rooms/roomgate",
			},
			why: "areas.Config has the interfaces to the media engines, so that jobs and tests make all areas without the engines",
		},
		{
			packages: "handlers/...", never: []string{module + "internal/media/...", module + "jobs", module + "cmd/...", "github.com/jackc/...", "github.com/riverqueue/..."},
			why: "a handler makes one domain call; SQL and jobs belong into the areas",
		},
		{
			packages: "handlers", never: []string{module + "internal/base/postgres", "github.com/getkin/kin-openapi/openapi3filter"},
			why: "the pipeline validates requests and turns database errors into problems, so that operations need neither import",
		},
		{
			packages: "handlers/pipeline",
			may: []string{
				"gen/api", "handlers/request", "internal/base/...", "internal/tenancy", "internal/tenancy/idempotency", "internal/tenancy/quota",
				"internal/console/platform",
			},
			why: "the pipeline serves every operation, so it may import no area; it declares interfaces for what it needs from one",
		},
		{
			packages: "handlers/request", may: []string{"internal/tenancy", "internal/console/platform"},
			why: "it holds the values that the pipeline stores in a request's context; it needs only their types",
		},
		{packages: "jobs", never: []string{module + "gen/...", module + "handlers/...", module + "internal/media/...", module + "cmd/..."}, why: "a worker makes one domain call; SQL, HTTP and media belong into the packages that it calls"},
	}
}

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	own := groups()
	for i := range own {
		own[i].may = append(own[i].may, own[i].packages)
	}
	all := slices.Concat(own, rules())
	for _, p := range list(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || matches("internal/testkit/...", name) {
			continue
		}
		for _, r := range all {
			if matches(r.packages, name) {
				check(t, p, r)
			}
		}
	}
}

func check(t *testing.T, p pkg, r rule) {
	t.Helper()
	for _, imported := range p.Imports {
		if path, ours := strings.CutPrefix(imported, module); ours && r.may != nil {
			require.True(t, slices.ContainsFunc(r.may, func(m string) bool { return matches(m, path) }),
				"%s imports %s: %s", p.ImportPath, imported, r.why)
		}
		require.False(t, slices.ContainsFunc(r.never, func(n string) bool { return matches(n, imported) }),
			"%s imports %s: %s", p.ImportPath, imported, r.why)
	}
}

// TestEachPackageIsInAGroup: every package is in a group, and every group has a rule.
func TestEachPackageIsInAGroup(t *testing.T) {
	t.Parallel()
	others := []string{"internal/areas", "internal/layers", "internal/testkit/..."}
	for _, p := range list(t) {
		name, _ := strings.CutPrefix(p.ImportPath, module)
		if !strings.HasPrefix(name, "internal/") || slices.ContainsFunc(others, func(o string) bool { return matches(o, name) }) {
			continue
		}
		require.True(t, slices.ContainsFunc(groups(), func(r rule) bool { return matches(r.packages, name) }), "%s is in no group", name)
	}
}

// TestEachGroupHasADoc: every group has a doc.go, for its terms and its allowed imports.
func TestEachGroupHasADoc(t *testing.T) {
	t.Parallel()
	for _, r := range groups() {
		dir, _ := strings.CutSuffix(r.packages, "/...")
		require.FileExists(t, filepath.Join("..", "..", dir, "doc.go"))
	}
	entries, err := os.ReadDir(filepath.Join("..", "..", "internal"))
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 15, "internal/ is read at a glance; put a new area into a group")
}

func TestMatches(t *testing.T) {
	t.Parallel()
	require.True(t, matches("internal/media/...", "internal/media/hub"))
	require.True(t, matches("internal/media/...", "internal/media"))
	require.False(t, matches("internal/media/...", "internal/mediaplan"))
	require.False(t, matches("handlers", "handlers/sub"))
}

func matches(pattern, path string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return path == pattern
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...").Output()
	require.NoError(t, err)
	var pkgs []pkg
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
	require.NotEmpty(t, pkgs)
	return pkgs
}
