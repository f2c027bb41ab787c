package layers_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const queriesPackage = module + "gen/db"

// use is a package's call of a query that touches a table.
type use struct{ pkg, query, table string }

// TestEachTableHasOneOwner: an area calls only queries that touch its own tables. Other areas ask the
// owner. The exceptions are listed with their reasons; one that is no longer needed must be removed.
func TestEachTableHasOneOwner(t *testing.T) {
	t.Parallel()
	tables := tablesOf(t)
	owner := owners()
	require.ElementsMatch(t, tables, slices.Collect(maps.Keys(owner)), "each table of schema/ has an owner")
	allowed := map[use]bool{}
	for _, e := range tableExceptions() {
		for table, names := range e.queries {
			require.NotEqual(t, owner[table], e.pkg, "%s owns %s", e.pkg, table)
			for query := range strings.FieldsSeq(names) {
				allowed[use{e.pkg, query, table}] = true
			}
		}
	}
	used := map[use]bool{}
	for _, u := range usesOf(t, queriesOf(t, tables)) {
		if owner[u.table] == u.pkg || used[u] {
			continue
		}
		used[u] = true
		if !allowed[u] {
			t.Errorf("%s calls %s, which touches the table %s of %s: ask the owner", u.pkg, u.query, u.table, owner[u.table])
		}
	}
	for u := range allowed {
		if !used[u] {
			t.Errorf("%s no longer calls %s with the table %s: remove the exception", u.pkg, u.query, u.table)
		}
	}
}

var (
	tableStatement = regexp.MustCompile(
		`(?m)^\s*(CREATE|DROP)(?: UNLOGGED)? (?:TABLE|VIEW) (?:IF (?:NOT )?EXISTS )?(\w+)|^\s*ALTER TABLE (\w+) RENAME TO (\w+)`)
	queryName  = regexp.MustCompile(`(?m)^-- name: (\w+) :\w+.*$`)
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlString  = regexp.MustCompile(`'(?:[^']|'')*'`)
	// tableUse matches the tables behind a keyword, with their aliases, separated by commas. Our
	// queries write keywords in upper case and names in lower case.
	tableUse = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+(?:LATERAL\s+)?(\w+(?:\s+[a-z]\w*)?(?:\s*,\s*\w+(?:\s+[a-z]\w*)?)*)`)
)

// tablesOf lists the tables and views that the migrations leave.
func tablesOf(t *testing.T) (tables []string) {
	t.Helper()
	for _, text := range sqlFiles(t, "schema") {
		for _, m := range tableStatement.FindAllStringSubmatch(sqlComment.ReplaceAllString(text, ""), -1) {
			switch {
			case m[3] != "":
				tables[slices.Index(tables, m[3])] = m[4]
			case m[1] == "DROP":
				tables = slices.DeleteFunc(tables, func(name string) bool { return name == m[2] })
			default:
				tables = append(tables, m[2])
			}
		}
	}
	return tables
}

// queriesOf maps each query's name to the tables that it touches.
func queriesOf(t *testing.T, tables []string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, text := range sqlFiles(t, "queries") {
		starts := queryName.FindAllStringSubmatchIndex(text, -1)
		for i, m := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			all[text[m[2]:m[3]]] = tablesIn(text[m[1]:end], tables)
		}
	}
	return all
}

// tablesIn returns those of the tables that a query names.
func tablesIn(query string, tables []string) (found []string) {
	body := sqlString.ReplaceAllString(sqlComment.ReplaceAllString(query, ""), "''")
	for _, list := range tableUse.FindAllStringSubmatch(body, -1) {
		for one := range strings.SplitSeq(list[1], ",") {
			if name := strings.Fields(one)[0]; slices.Contains(tables, name) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found
}

func TestTablesInAQuery(t *testing.T) {
	t.Parallel()
	tables := []string{"orders", "order_items", "streams", "users"}
	for query, want := range map[string][]string{
		"SELECT * FROM orders o, streams WHERE id = @id":                             {"orders", "streams"},
		"WITH made AS (INSERT INTO orders (id) VALUES (1)) UPDATE streams SET a = 1": {"orders", "streams"},
		"DELETE FROM orders USING order_items i WHERE true -- FROM users":            {"orders", "order_items"},
		"SELECT (SELECT count(*) FROM streams s) AS users, 'FROM users'":             {"streams"},
		"SELECT 1 FROM orders o JOIN LATERAL (SELECT 1 FROM streams) s ON true":      {"orders", "streams"},
	} {
		require.Equal(t, want, tablesIn(query, tables), query)
	}
}

func sqlFiles(t *testing.T, dir string) (texts []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", dir, "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names { // Glob sorts them
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	return texts
}

// usesOf type-checks the packages that import the generated queries, without their tests, and lists
// which queries they name.
func usesOf(t *testing.T, queries map[string][]string) (uses []use) {
	t.Helper()
	users, exports := compiled(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, u := range users {
		var parsed []*ast.File
		for _, name := range u.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		_, err := (&types.Config{Importer: imports}).Check(u.ImportPath, files, parsed, info)
		require.NoError(t, err)
		for _, named := range info.Uses {
			if _, isType := named.(*types.TypeName); isType || named.Pkg() == nil || named.Pkg().Path() != queriesPackage {
				continue
			}
			for _, table := range queries[named.Name()] {
				uses = append(uses, use{strings.TrimPrefix(u.ImportPath, module), named.Name(), table})
			}
		}
	}
	return uses
}

// source is a package with its compiled form.
type source struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// compiled returns our packages that import the generated queries, and the file with the export data
// of every package that they need.
func compiled(t *testing.T) (users []source, exports map[string]string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports",
		module+"internal/...", module+"handlers", module+"jobs", module+"cmd/...").Output()
	require.NoError(t, err)
	exports = map[string]string{}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p source
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if ours && slices.Contains(p.Imports, queriesPackage) && !matches("internal/testkit/...", name) {
			users = append(users, p)
		}
	}
	require.NotEmpty(t, users)
	return users, exports
}
