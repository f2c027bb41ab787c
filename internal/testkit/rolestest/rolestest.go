// Package rolestest reads gen/roles.md: the scopes of each role, and the roles that may call each operation. Tests of the consoles
// compare with it what a role is offered.
package rolestest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"showfloor/internal/testkit/moduleroot"
)

// Operation is a row of a table of operations.
type Operation struct {
	ID, Method, Path string
	// Scopes are all that the column Needs names. The list is empty if a token is enough.
	Scopes []string
	// Roles may call the operation.
	Roles []string
}

// Table is the content of the file.
type Table struct {
	roles      []string
	scopes     map[string][]string
	operations []Operation
}

var quoted = regexp.MustCompile("`([^`]+)`")

// Read parses the file, and fails the test for a row that it doesn't understand.
func Read(t testing.TB) *Table {
	t.Helper()
	text, err := os.ReadFile(moduleroot.Path(t, "gen", "roles.md"))
	if err != nil {
		t.Fatalf("roles: %v", err)
	}
	table := &Table{scopes: map[string][]string{}}
	var head []string
	for line := range strings.Lines(string(text)) {
		cells := cellsOf(line)
		switch {
		case cells == nil || strings.HasPrefix(cells[0], "---"):
		case cells[0] == "Role" || cells[0] == "Operation":
			head = cells
		case len(cells) != len(head):
			t.Fatalf("roles: a row of %d cells below %d columns: %s", len(cells), len(head), line)
		case head[0] == "Role":
			table.roles = append(table.roles, cells[0])
			table.scopes[cells[0]] = words(cells[1])
		default:
			table.operations = append(table.operations, table.operation(head, cells))
		}
	}
	if len(table.roles) == 0 || len(table.operations) == 0 {
		t.Fatalf("roles: %d roles and %d operations", len(table.roles), len(table.operations))
	}
	return table
}

// cellsOf returns the cells of a line, nil if it is no row of a table.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// words returns the words of a cell that are set as code.
func words(cell string) (list []string) {
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		list = append(list, match[1])
	}
	return list
}

func (r *Table) operation(head, cells []string) Operation {
	method, _, _ := strings.Cut(cells[1], " ")
	op := Operation{ID: words(cells[0])[0], Method: method, Path: words(cells[1])[0], Scopes: words(cells[2])}
	for i, name := range head {
		if cells[i] == "●" && slices.Contains(r.roles, name) {
			op.Roles = append(op.Roles, name)
		}
	}
	return op
}

// Scopes returns the scopes of a role.
func (r *Table) Scopes(t testing.TB, role string) []string {
	t.Helper()
	scopes, known := r.scopes[role]
	if !known {
		t.Fatalf("roles: no role %s", role)
	}
	return scopes
}

// With returns the roles that have a scope, in the file's order.
func (r *Table) With(scope string) (roles []string) {
	for _, role := range r.roles {
		if slices.Contains(r.scopes[role], scope) {
			roles = append(roles, role)
		}
	}
	return roles
}

// May reports whether a role may call an operation.
func (r *Table) May(t testing.TB, role, operationID string) bool {
	t.Helper()
	return slices.Contains(r.Operation(t, operationID).Roles, role)
}

// Operation returns the operation of an id.
func (r *Table) Operation(t testing.TB, id string) Operation {
	t.Helper()
	return r.first(t, id, func(op Operation) bool { return op.ID == id })
}

// At returns the operation of a method and a path of the document.
func (r *Table) At(t testing.TB, method, path string) Operation {
	t.Helper()
	return r.first(t, method+" "+path, func(op Operation) bool { return op.Method == method && op.Path == path })
}

func (r *Table) first(t testing.TB, name string, is func(Operation) bool) Operation {
	t.Helper()
	i := slices.IndexFunc(r.operations, is)
	if i < 0 {
		t.Fatalf("roles: no operation %s", name)
	}
	return r.operations[i]
}
