// Package layers keeps the map of who may import whom. It holds no code: the
// map is the test.
package layers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "showfloor/"

// pkg is what `go list` tells of a package, test files left out.
type pkg struct {
	ImportPath string
	Imports    []string
}

// rule says what the packages that match may import of ours, and what of
// others' they may not. A pattern ends in /... for everything below.
type rule struct {
	packages string
	// may lists patterns below the module; nil: anything.
	may []string
	// never lists patterns of any import path.
	never []string
	why   string
}

func rules() []rule {
	return []rule{
		{packages: "gen/...", may: []string{"gen/...", "internal/timestamp"}, why: "generated code stands alone; timestamp is a type that its configuration names"},
		{packages: "schema", may: []string{}, why: "migrations stand alone"},
		{packages: "web", may: []string{}, why: "pages stand alone"},
		{packages: "internal/diskspace", may: []string{"internal/problem"}, why: "it measures disks and nothing else"},
		{
			packages: "internal/alert", may: []string{"gen/db", "internal/diskspace", "internal/mail", "internal/postgres"},
			why: "it writes to the operator, not to tenants",
		},
		{packages: "internal/loglimit", may: []string{}, never: []string{"github.com/..."}, why: "whatever is logged, counting it is the same"},
		{packages: "internal/problem", may: []string{}, never: []string{"github.com/..."}, why: "everybody imports it"},
		{packages: "internal/connlimit", may: []string{"internal/fairshare"}, never: []string{"github.com/..."}, why: "it counts connections of any HTTP server"},
		{packages: "internal/fairshare", may: []string{}, never: []string{"github.com/..."}, why: "whatever is shared out, it only knows holders' names"},
		{packages: "internal/ratelimit", may: []string{}, why: "it counts whatever has a name; who is limited the door decides"},
		{packages: "internal/processor", may: []string{"internal/problem"}, why: "it speaks to the processor and knows no order"},
		{packages: "internal/outbound", may: []string{"internal/problem"}, why: "calling a stranger's address is the same for whoever does it"},
		{packages: "internal/sandbox", may: []string{"internal/durable"}, why: "it plays a stranger, who knows nothing of ours"},
		{
			packages: "internal/media/...", may: []string{"internal/fairshare", "internal/media/..."},
			why: "media reports through interfaces that it declares; it knows no tenant, route or SQL",
		},
		{
			packages: "internal/media/udp", may: []string{},
			why: "whatever is sent, a socket is the same",
		},
		{
			packages: "internal/media/sfu/forward", may: []string{"internal/media/sfu/bandwidth"},
			why: "it carries packets and knows no room",
		},
		{
			packages: "internal/media/sfu/bandwidth", may: []string{},
			why: "it goes by what subscribers report and knows no packet's content",
		},
		{
			packages: "internal/...", never: []string{module + "gen/api", module + "gen/client", module + "handlers", module + "jobs", "github.com/labstack/..."},
			why: "areas know no HTTP",
		},
		{
			packages: "internal/...", never: []string{module + "internal/areas"},
			why: "an area is handed what it holds; only the doors and the processes see all",
		},
		{
			packages: "internal/areas", never: []string{module + "internal/media/...", module + "internal/onair", module + "internal/inroom"},
			why: "it wires the areas, whose view of the media plane it is handed",
		},
		{
			packages: "internal/queue", may: []string{},
			why: "whatever a job is, adding it is the same",
		},
		{
			packages: "internal/account", never: []string{module + "internal/stream", module + "internal/webhook", module + "internal/console", module + "internal/media/..."},
			why: "areas form layers: account is below the others",
		},
		{
			packages: "internal/signing", never: []string{module + "internal/account", module + "internal/console"},
			why: "every kind of token is signed by the same keys",
		},
		{
			packages: "internal/playtoken", may: []string{"internal/signing"},
			why: "a token is checked without knowing where its stream is, or whether it is on air",
		},
		{
			packages: "internal/mail", may: []string{"gen/db", "internal/id", "internal/postgres", "internal/problem", "internal/queue", "internal/secret"},
			why: "it sends what areas write and knows none of them",
		},
		{
			packages: "internal/quota", may: []string{"gen/db", "internal/postgres", "internal/problem"},
			why: "whatever a plan limits, the area that has it counts it",
		},
		{
			packages: "internal/usage", may: []string{"gen/db", "internal/postgres"},
			why: "whatever is used, the area or engine that has it measures it",
		},
		{
			packages: "internal/idempotency", may: []string{"gen/db", "internal/postgres", "internal/problem", "internal/secret"},
			why: "it keeps the answers of any operation and knows none",
		},
		{
			packages: "internal/seller", may: []string{"gen/db", "internal/account", "internal/audit", "internal/postgres", "internal/problem", "internal/processor", "internal/quota"},
			why: "who may sell is settled before anything is sold",
		},
		{
			packages: "internal/billing", may: []string{"gen/db", "internal/event", "internal/postgres", "internal/problem", "internal/processor"},
			why: "it hands reports to the areas that they concern, through interfaces that it declares",
		},
		{
			packages: "internal/webhook", never: []string{module + "internal/stream", module + "internal/console", module + "internal/media/..."},
			why: "whatever emits an event, deliveries are the same",
		},
		{
			packages: "internal/console", never: []string{module + "internal/webhook", module + "internal/media/..."},
			why: "it sees to all tenants through the areas; what it stops there says so by console.Stopper",
		},
		{
			packages: "internal/stream", never: []string{module + "internal/webhook", module + "internal/media/..."},
			why: "an area sees the media plane through its own interface",
		},
		{
			packages: "internal/auction", never: []string{module + "internal/webhook", module + "internal/console", module + "internal/media/..."},
			why: "it sells units of the catalog and hands its winners to the orders",
		},
		{
			packages: "internal/analytics", may: []string{"gen/db", "internal/account", "internal/problem"},
			why: "it reads rows of all areas and knows none of their code",
		},
		{packages: "internal/realtime", may: []string{"internal/problem"}, why: "whatever is published, carrying it is the same"},
		{
			packages: "internal/session", never: []string{module + "internal/webhook", module + "internal/console", module + "internal/chat", module + "internal/call", module + "internal/media/..."},
			why: "rooms are below what happens in them; connections are seen to by inroom",
		},
		{
			packages: "internal/chat",
			may: []string{
				"gen/db", "internal/account", "internal/audit", "internal/batch", "internal/event", "internal/id", "internal/postgres", "internal/problem",
				"internal/push", "internal/realtime", "internal/session", "internal/stored", "internal/timestamp",
			},
			why: "it knows who is in a room, and whoever is pushed to or connected sees to that by itself",
		},
		{
			packages: "internal/call",
			may:      []string{"gen/db", "internal/account", "internal/event", "internal/id", "internal/metadata", "internal/postgres", "internal/problem", "internal/push", "internal/session", "internal/timestamp"},
			why:      "a call is a session that rings before",
		},
		{packages: "internal/push", may: []string{"internal/postgres", "internal/timestamp"}, why: "whatever is pushed, adding it is the same"},
		{
			packages: "internal/inroom", may: []string{"internal/account", "internal/id", "internal/media/...", "internal/onair", "internal/problem", "internal/realtime", "internal/session"},
			why: "the one place where the SFU and the realtime channel, which know connections, meet the areas, which know tenants",
		},
		{
			packages: "internal/setting", may: []string{"gen/db", "internal/audit", "internal/postgres", "internal/problem"},
			why: "areas go by settings, so it knows none of them",
		},
		{
			packages: "internal/discount",
			may: []string{
				"gen/db", "internal/account", "internal/audit", "internal/event", "internal/id", "internal/postgres", "internal/problem",
				"internal/realtime", "internal/timestamp",
			},
			why: "orders are made of discounts, not the other way round",
		},
		{
			packages: "internal/order",
			never:    []string{module + "internal/stream", module + "internal/auction", module + "internal/webhook", module + "internal/media/..."},
			why:      "auctions and reports end in orders, not the other way round",
		},
		{
			packages: "internal/catalog",
			may:      []string{"gen/db", "internal/account", "internal/audit", "internal/event", "internal/id", "internal/postgres", "internal/problem", "internal/processor", "internal/queue", "internal/timestamp"},
			why:      "what is sold is below all that sells it",
		},
		{
			packages: "internal/tester", never: []string{module + "internal/stream", module + "internal/webhook", module + "internal/media/..."},
			why: "what strangers send to a capture URL concerns no other area",
		},
		{
			packages: "internal/onair", may: []string{"internal/media/...", "internal/stream", "internal/usage", "internal/problem"},
			why: "the one place where the media plane and the areas of streams and usage meet",
		},
		{
			packages: "handlers", never: []string{module + "internal/media/...", module + "jobs", module + "cmd/...", "github.com/jackc/...", "github.com/riverqueue/..."},
			why: "a handler makes one domain call; SQL and jobs are the areas' business",
		},
		{packages: "jobs", never: []string{module + "gen/...", module + "handlers", module + "internal/media/...", module + "cmd/..."}, why: "a worker makes one domain call"},
	}
}

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	for _, p := range list(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || testSupport(name) {
			continue
		}
		for _, r := range rules() {
			if !matches(r.packages, name) {
				continue
			}
			for _, imported := range p.Imports {
				if path, ours := strings.CutPrefix(imported, module); ours && r.may != nil {
					require.True(t, slices.ContainsFunc(r.may, func(m string) bool { return matches(m, path) }),
						"%s imports %s: %s", p.ImportPath, imported, r.why)
				}
				require.False(t, slices.ContainsFunc(r.never, func(n string) bool { return matches(n, imported) }),
					"%s imports %s: %s", p.ImportPath, imported, r.why)
			}
		}
	}
}

func TestTheRulesCatchABreach(t *testing.T) {
	t.Parallel()
	require.True(t, matches("internal/media/...", "internal/media/hub"))
	require.True(t, matches("internal/media/...", "internal/media"))
	require.False(t, matches("internal/media/...", "internal/mediaplan"))
	require.False(t, matches("handlers", "handlers/sub"))
}

// testSupport names packages that only tests import and that may see all.
func testSupport(name string) bool {
	return name == "internal/apitest" || name == "internal/dbtest" || name == "internal/redistest" || name == "internal/browsertest" ||
		name == "internal/smtptest" || name == "internal/realtimetest"
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
