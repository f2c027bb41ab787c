package access

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

// Row is one operation of the document.
type Row struct {
	Tag, Method, Path, ID string
	Security              openapi3.SecurityRequirements
}

// Rows lists the document's operations: by tag, in the document's order, then by
// path and method.
func Rows(doc *openapi3.T) []Row {
	order := map[string]int{}
	for i, tag := range doc.Tags {
		order[tag.Name] = i
	}
	var rows []Row
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			row := Row{Method: method, Path: path, ID: op.OperationID, Security: doc.Security}
			if len(op.Tags) > 0 {
				row.Tag = op.Tags[0]
			}
			if op.Security != nil {
				row.Security = *op.Security
			}
			rows = append(rows, row)
		}
	}
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(order[a.Tag], order[b.Tag]), cmp.Compare(a.Path, b.Path),
			cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)), cmp.Compare(a.Method, b.Method),
		)
	})
	return rows
}

// columns returns the parties that have a column in the table. A key without
// scopes has none, since the column "needs" shows it.
func columns() []Party {
	return slices.DeleteFunc(Parties(), func(p Party) bool { return p.Kind == Key && len(p.Scopes) == 0 })
}

// Markdown returns the table as Markdown.
func Markdown(doc *openapi3.T) []byte {
	var b strings.Builder
	b.WriteString(introduction)
	b.WriteString("\n## Roles\n\n| Role | May |\n|---|---|\n")
	for _, role := range tenancy.Roles() {
		fmt.Fprintf(&b, "| %s | %s |\n", role, code(texts(role.Scopes())))
	}
	for _, role := range platform.Roles() {
		fmt.Fprintf(&b, "| %s | %s |\n", role, code(texts(role.Scopes())))
	}
	tag := ""
	for _, row := range Rows(doc) {
		if row.Tag != tag {
			tag = row.Tag
			b.WriteString("\n## " + tag + "\n\n" + head())
		}
		fmt.Fprintf(&b, "| `%s` | %s `%s` | %s |", row.ID, row.Method, row.Path, needs(row.Security))
		for _, p := range columns() {
			b.WriteString(map[Decision]string{Allowed: " ● |", Forbidden: " – |", Unauthenticated: "  |"}[Decide(row.Security, p)])
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

const introduction = `# Access to the operations

Generated from the API document and the roles by ` + "`make generate`" + `. A test compares each operation of the server with it.

● may call the operation. – lacks a scope: 403 ` + "`forbidden`" + `. An empty cell: the operation doesn't accept this credential, 401
` + "`unauthenticated`" + `. The column API key shows a key with all scopes; other keys need the scopes in the column Needs.
The column participant shows tokens of a session or stream. They open only their own room and its breakout rooms; the role (host,
cohost, guest or viewer) decides what a token may do there.
The owner of a resource is checked after that: an id of another tenant is a 404.
`

func head() string {
	names := []string{"Operation", "Path", "Needs"}
	for _, p := range columns() {
		if p.Kind == Key {
			names = append(names, "API key")
		} else {
			names = append(names, p.Name)
		}
	}
	return "| " + strings.Join(names, " | ") + " |\n|" + strings.Repeat("---|", len(names)) + "\n"
}

// needs returns the credentials and scopes that an operation needs.
func needs(security openapi3.SecurityRequirements) string {
	var alternatives []string
	for _, alternative := range security {
		for _, scheme := range slices.Sorted(maps.Keys(alternative)) {
			if scopes := alternative[scheme]; len(scopes) > 0 {
				alternatives = append(alternatives, code(scopes))
			} else {
				alternatives = append(alternatives, scheme)
			}
		}
	}
	return strings.Join(alternatives, " or ")
}

func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}
