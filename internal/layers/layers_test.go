// Package layers keeps the rules of who may import whom. The rules read like
// CONTRIBUTING.md: two doors (handlers, jobs), the areas behind them, and the
// media engines that know neither HTTP routes nor SQL.
package layers_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "showfloor/"

// A rule speaks of the packages whose path, without the module's name, starts
// with one of who and with none of but. With only, they may import no other
// package of ours than those; never lists what they may not import at all,
// ours or others'. All entries are prefixes.
type rule struct {
	who, but []string
	only     []string
	never    []string
	why      string
}

func rules() []rule {
	const anything = "" // prefix of every path

	return []rule{
		{
			who:  []string{"gen/", "schema", "web", "internal/problem", "internal/timestamp"},
			only: []string{"gen/api", "internal/timestamp"},
			why:  "what is generated, embedded or basic knows nothing of the rest",
		},
		{
			who:  []string{"internal/media"},
			only: []string{"internal/media/"},
			why:  "media engines report through interfaces that they declare themselves",
		},
		{
			who:   []string{"internal/"},
			never: []string{"showfloor/gen/api", "showfloor/gen/client", "showfloor/handlers", "showfloor/jobs", "github.com/labstack/echo"},
			why:   "the areas know neither HTTP nor the doors that lead to them",
		},
		{
			who:   []string{"handlers"},
			never: []string{"showfloor/jobs", "showfloor/gen/client", "github.com/jackc/pgx", "github.com/riverqueue", "database/sql"},
			why:   "a handler reads the request, makes one domain call and converts",
		},
		{
			who:   []string{"jobs"},
			never: []string{"showfloor/handlers", "showfloor/gen/"},
			why:   "a worker makes one domain call",
		},
		{
			who:   []string{anything},
			but:   []string{"cmd/testdb", "internal/dbtest", "internal/browsertest"},
			never: []string{"showfloor/internal/dbtest", "showfloor/internal/browsertest", "testing", "github.com/stretchr/testify"},
			why:   "test code stays out of the server",
		},
		{
			who:   []string{anything},
			never: []string{"showfloor/cmd/"},
			why:   "programs are not libraries",
		},
	}
}

// broken returns the imports of a package that the rule forbids.
func (r rule) broken(path string, imports []string) []string {
	own := strings.TrimPrefix(path, module)
	if !startsWithOne(own, r.who) || startsWithOne(own, r.but) {
		return nil
	}

	var bad []string
	for _, imported := range imports {
		ours, isOurs := strings.CutPrefix(imported, module)
		notListed := r.only != nil && isOurs && !startsWithOne(ours, r.only)
		if notListed || startsWithOne(imported, r.never) {
			bad = append(bad, imported)
		}
	}

	return bad
}

func startsWithOne(path string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}

	return false
}

// imports returns what each package of the module imports, its tests aside.
func imports(t *testing.T) map[string][]string {
	t.Helper()

	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	require.NoError(t, err)

	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		all[words[0]] = words[1:]
	}

	return all
}

func TestEveryPackageKeepsToItsLayer(t *testing.T) {
	t.Parallel()

	all := imports(t)
	require.NotEmpty(t, all)
	for path, imported := range all {
		for _, r := range rules() {
			for _, bad := range r.broken(path, imported) {
				t.Errorf("%s imports %s: %s", path, bad, r.why)
			}
		}
	}
}

func TestRulesCatchWhatTheyForbid(t *testing.T) {
	t.Parallel()

	for path, imported := range map[string]string{
		"showfloor/internal/stream":     "showfloor/gen/api",
		"showfloor/internal/media/rtmp": "showfloor/internal/stream",
		"showfloor/internal/problem":    "showfloor/internal/stream",
		"showfloor/handlers":            "github.com/jackc/pgx/v5",
		"showfloor/jobs":                "showfloor/gen/db",
		"showfloor/web":                 "showfloor/handlers",
		"showfloor/cmd/showfloor":       "showfloor/internal/dbtest",
		"showfloor/gen/db":              "showfloor/gen/client",
	} {
		caught := false
		for _, r := range rules() {
			caught = caught || len(r.broken(path, []string{"context", imported})) > 0
		}
		require.True(t, caught, "%s may not import %s", path, imported)
	}
}
