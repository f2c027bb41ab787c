package web_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/rolestest"
)

// asksElsewhere has the operations whose calls the test can't follow to the component that asks, each with the reason.
var asksElsewhere = map[string]string{
	"sendChannelMessage":       "the page hands the call to Chat, which asks before it renders Write",
	"sendStreamMessage":        "the page hands the call to Chat, which asks before it renders Write",
	"updateAdminSetting":       "the dialog opens only with the button of Setting, which asks",
	"updateAdminSystemSetting": "the dialog opens only with the button of Setting, which asks",
}

// TestConsolesAskForTheScopeOfEachChange reads the consoles' sources. For every call of an operation that some role may not call, it
// checks that the component with the call, or each component on the way to it from the routes, asks may() or mayCall() for a scope of
// that operation. It doesn't see which buttons of a component the answer hides; the walk through the consoles as each role does.
func TestConsolesAskForTheScopeOfEachChange(t *testing.T) {
	t.Parallel()
	table := rolestest.Read(t)
	sources := readSources(t)
	acting, excepted, asked := actingScopes(t, sources), map[string]bool{}, map[*part][]string{}
	for _, p := range sources.parts {
		asked[p] = p.scopes(acting)
	}
	for console, everyone := range map[string][]string{"tenant": table.With("account:read"), "admin": table.With("admin:read")} {
		starts := sources.named(console + "/main")
		require.NotEmpty(t, starts)
		reached := sources.reach(starts, func(*part) bool { return false })
		checked, reachedBy := 0, map[string]map[*part]string{}
		for _, p := range slices.SortedFunc(maps.Keys(reached), func(a, b *part) int { return strings.Compare(a.name(), b.name()) }) {
			for _, call := range p.calls() {
				op := table.At(t, call[0], call[1])
				if isSubset(everyone, op.Roles) {
					continue
				}
				checked++
				if reachedBy[op.ID] == nil {
					reachedBy[op.ID] = sources.reach(starts, func(one *part) bool {
						return slices.ContainsFunc(asked[one], func(scope string) bool {
							return slices.Contains(op.Scopes, scope) && isSubset(table.With(scope), op.Roles)
						})
					})
				}
				way, open := reachedBy[op.ID][p]
				if open && asksElsewhere[op.ID] == "" {
					t.Errorf("%s calls %s, and nothing on the way %s asks for %s", p.name(), op.ID, way, strings.Join(op.Scopes, ", "))
				}
				excepted[op.ID] = excepted[op.ID] || open
			}
		}
		require.Greater(t, checked, 20, "calls of the console %s", console)
	}
	for id := range asksElsewhere {
		require.True(t, excepted[id], "%s is no exception any more", id)
	}
	for p := range sources.unreached() {
		require.Empty(t, p.calls(), "no route leads to %s", p.name())
	}
}

// TestScopesOfOperationsRefusedToAdmins compares the scopes that the console asks for in mayCall() with the operations' own.
func TestScopesOfOperationsRefusedToAdmins(t *testing.T) {
	t.Parallel()
	table := rolestest.Read(t)
	for id, scope := range actingScopes(t, readSources(t)) {
		op := table.Operation(t, id)
		if scope == "" {
			require.Empty(t, op.Scopes, id)
			continue
		}
		require.Contains(t, op.Scopes, scope, id)
		require.ElementsMatch(t, table.With(scope), op.Roles, "%s: the roles with %s", id, scope)
	}
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// part is a function or constant at the top level of a source file.
type part struct {
	file, id, text string
	isDefault      bool
}

func (p *part) name() string { return p.file + ":" + p.id }

var (
	methodCall = regexp.MustCompile(`\.(POST|PUT|PATCH|DELETE)\(`)
	clientCall = regexp.MustCompile(`client\.(POST|PUT|PATCH|DELETE)\(\s*'([^']+)'`)
	askedScope = regexp.MustCompile(`\b(?:may|useMay\(\))\(([^)]*)\)`)
	askedCall  = regexp.MustCompile(`\b(?:mayCall|useMayCall\(\))\(([^)]*)\)`)
	literal    = regexp.MustCompile(`'([^']+)'`)
	word       = regexp.MustCompile(`[A-Za-z_$][\w$]*`)
	declared   = regexp.MustCompile(`^(?:export )?(default )?(?:async )?(?:function|const|let|class) ([\w$]+)`)
	importing  = regexp.MustCompile(`(?s)\nimport (type )?([^;]*?) from '(\.[^']+)\.js';`)
	loading    = regexp.MustCompile(`import\('(\.[^']+)\.js'\)`)
	refusal    = regexp.MustCompile(`(\w+): (?:'([a-z:]+)'|null)`)
)

// calls returns the method and path of each change that the part requests.
func (p *part) calls() (list [][2]string) {
	for _, match := range clientCall.FindAllStringSubmatch(p.text, -1) {
		list = append(list, [2]string{match[1], match[2]})
	}
	return list
}

// scopes returns the scopes for which the part asks.
func (p *part) scopes(acting map[string]string) (list []string) {
	for _, match := range askedScope.FindAllStringSubmatch(p.text, -1) {
		for _, scope := range literal.FindAllStringSubmatch(match[1], -1) {
			list = append(list, scope[1])
		}
	}
	for _, match := range askedCall.FindAllStringSubmatch(p.text, -1) {
		for _, id := range literal.FindAllStringSubmatch(match[1], -1) {
			if scope, known := acting[id[1]]; known {
				list = append(list, scope)
			}
		}
	}
	return list
}

// sources are the consoles' files.
type sources struct {
	parts []*part
	// imports has the files and names of what each file imports, by its local name.
	imports map[string]map[string][2]string
	used    map[*part][]*part
}

func readSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{imports: map[string]map[string][2]string{}}
	root := os.DirFS("src/console")
	require.NoError(t, fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		name, isSource := strings.CutSuffix(strings.TrimSuffix(file, "x"), ".ts")
		if err != nil || entry.IsDir() || !isSource {
			return err
		}
		text, err := fs.ReadFile(root, file)
		if err == nil {
			s.add(t, name, "\n"+string(text))
		}
		return err
	}))
	s.link()
	return s
}

// add splits a file into its parts. Each begins with a declaration that isn't indented.
func (s *sources) add(t *testing.T, file, text string) {
	t.Helper()
	require.Len(t, clientCall.FindAllString(text, -1), len(methodCall.FindAllString(text, -1)), "%s has calls that the test can't read", file)
	require.NotContains(t, text, "useMutation('", file)
	s.imports[file] = map[string][2]string{}
	for _, match := range importing.FindAllStringSubmatch(text, -1) {
		if match[1] == "" {
			s.addImport(file, path.Join(path.Dir(file), match[3]), match[2])
		}
	}
	var current *part
	for line := range strings.Lines(text) {
		if match := declared.FindStringSubmatch(line); match != nil {
			current = &part{file: file, id: match[2], isDefault: match[1] != ""}
			s.parts = append(s.parts, current)
		} else if !strings.ContainsAny(line[:1], " \n})]") {
			current = nil // such as an import, a type or a comment
			if methodCall.MatchString(line) {
				t.Errorf("%s has a call outside of a declaration: %s", file, line)
			}
		}
		if current != nil && !strings.HasPrefix(strings.TrimSpace(line), "//") {
			current.text += line
		}
	}
}

// addImport keeps the names of a clause such as `React, { useState, type Q, a as b }`.
func (s *sources) addImport(file, from, clause string) {
	first, braced, _ := strings.Cut(clause, "{")
	if name := strings.Trim(first, " ,"); name != "" {
		s.imports[file][name] = [2]string{from, "default"}
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(braced), "}"), ",") {
		name = strings.TrimSpace(name)
		original, local, renamed := strings.Cut(name, " as ")
		if !renamed {
			local = original
		}
		if name != "" && !strings.HasPrefix(name, "type ") {
			s.imports[file][local] = [2]string{from, original}
		}
	}
}

// named returns the parts of a file.
func (s *sources) named(file string) (list []*part) {
	for _, p := range s.parts {
		if p.file == file {
			list = append(list, p)
		}
	}
	return list
}

// link finds the parts that each part names: of its own file, of those that the file imports, and of those that it loads later.
func (s *sources) link() {
	s.used = map[*part][]*part{}
	byName := map[[2]string]*part{}
	for _, p := range s.parts {
		byName[[2]string{p.file, p.id}] = p
		if p.isDefault {
			byName[[2]string{p.file, "default"}] = p
		}
	}
	for _, p := range s.parts {
		s.used[p] = s.uses(p, byName)
	}
}

func (s *sources) uses(p *part, byName map[[2]string]*part) (list []*part) {
	add := func(file, id string) {
		if one, known := byName[[2]string{file, id}]; known && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	for _, match := range loading.FindAllStringSubmatch(p.text, -1) {
		add(path.Join(path.Dir(p.file), match[1]), "default")
	}
	for _, id := range word.FindAllString(p.text, -1) {
		if from, imported := s.imports[p.file][id]; imported {
			add(from[0], from[1])
		} else if id != p.id {
			add(p.file, id)
		}
	}
	return list
}

// reach returns the parts that can be reached without a part that stops, each with one way to it.
func (s *sources) reach(starts []*part, stops func(*part) bool) map[*part]string {
	ways := map[*part]string{}
	next := starts
	for _, p := range starts {
		ways[p] = p.name()
	}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		if stops(p) {
			delete(ways, p)
			continue
		}
		for _, one := range s.used[p] {
			if _, seen := ways[one]; !seen && !stops(one) {
				ways[one] = ways[p] + " → " + one.name()
				next = append(next, one)
			}
		}
	}
	return ways
}

// unreached returns the parts to which no console's routes lead.
func (s *sources) unreached() map[*part]bool {
	reached := s.reach(slices.Concat(s.named("tenant/main"), s.named("admin/main")), func(*part) bool { return false })
	rest := map[*part]bool{}
	for _, p := range s.parts {
		if _, found := reached[p]; !found {
			rest[p] = true
		}
	}
	return rest
}

// actingScopes returns the operations that the tenant's console doesn't offer to an admin who acts for the tenant, with the scope
// that it asks for, "" for none.
func actingScopes(t *testing.T, s *sources) map[string]string {
	t.Helper()
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.name() == "tenant/identity:refusedToAdmins" })
	require.GreaterOrEqual(t, i, 0)
	scopes := map[string]string{}
	for _, match := range refusal.FindAllStringSubmatch(s.parts[i].text, -1) {
		scopes[match[1]] = match[2]
	}
	require.Greater(t, len(scopes), 20)
	return scopes
}
