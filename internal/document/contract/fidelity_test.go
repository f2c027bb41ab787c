package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// described is the number of operations in the service's description. A route with any
// method counts once. The capture address, which it only mentions, doesn't count.
const described = 191

// entry is one operation of the service's description.
type entry struct {
	// Op is method and path. ANY stands for the methods in Methods.
	Op      string
	Methods []string
	// Status of success; by default 201 for POST and 200 for all else.
	Status  int
	Body    *shape
	Result  shape
	Query   fields
	Headers []string
	// Why is the reason for an operation that the description doesn't have.
	Why string
}

// shape is fields, or the name of a shape, or "array of" one.
type shape struct {
	name   string
	list   bool
	fields fields
}

// UnmarshalYAML takes either form.
func (s *shape) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		s.name, s.list = strings.CutPrefix(node.Value, "array of ")
		return nil
	}
	return node.Decode(&s.fields)
}

// resolve replaces a shape's name by its fields.
func (s shape) resolve(t *testing.T, shapes map[string]fields) fields {
	t.Helper()
	if s.name == "" {
		return s.fields
	}
	named, known := shapes[s.name]
	require.True(t, known, "there is no shape %s", s.name)
	if !s.list {
		return named
	}
	out := fields{}
	for path, want := range named {
		out["[]."+path] = want
	}
	return out
}

func (e entry) path() string {
	_, path, _ := strings.Cut(e.Op, " ")
	return path
}

func (e entry) methods() []string {
	method, _, _ := strings.Cut(e.Op, " ")
	if method == "ANY" {
		return e.Methods
	}
	return []string{method}
}

func (e entry) success(method string) string {
	switch {
	case e.Status != 0:
		return strconv.Itoa(e.Status)
	case method == http.MethodPost:
		return "201"
	default:
		return "200"
	}
}

func entries(t *testing.T, files ...string) []entry {
	t.Helper()
	var all []entry
	for _, file := range files {
		var list []entry
		readYAML(t, file, &list)
		all = append(all, list...)
	}
	return all
}

// service is the description, area by area.
func service(t *testing.T) []entry {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("testdata", "fidelity", "service"))
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, "service/"+f.Name())
	}
	return entries(t, names...)
}

func TestTheDocumentKeepsTheServicesDescription(t *testing.T) {
	t.Parallel()
	doc := document(t)
	shapes := map[string]fields{}
	readYAML(t, "shapes.yaml", &shapes)
	require.Len(t, service(t), described+1, "and the capture address")
	for _, e := range slices.Concat(service(t), entries(t, "answers.yaml", "additions.yaml")) {
		for _, method := range e.methods() {
			for _, fault := range e.faults(t, doc, method, shapes) {
				assert.Fail(t, fmt.Sprintf("%s %s: %s", method, e.path(), fault))
			}
		}
	}
}

// TestEveryOperationIsDescribedOrListed: each operation is in the service's
// description, or in the list of additions with the reason for it.
func TestEveryOperationIsDescribedOrListed(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, e := range service(t) {
		for _, method := range e.methods() {
			known[method+" "+e.path()] = true
		}
	}
	for _, e := range entries(t, "additions.yaml") {
		require.NotEmpty(t, e.Why, e.Op)
		for _, method := range e.methods() {
			require.False(t, known[method+" "+e.path()], "%s is in the description already", e.Op)
			known[method+" "+e.path()] = true
		}
	}
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			assert.True(t, known[method+" "+path], "%s %s is in neither list", method, path)
		}
	}
}

// faults lists the differences between the operation and its entry.
func (e entry) faults(t *testing.T, doc *openapi3.T, method string, shapes map[string]fields) (faults []string) {
	t.Helper()
	item := doc.Paths.Value(e.path())
	if item == nil || item.GetOperation(method) == nil {
		return []string{"is missing"}
	}
	op := item.GetOperation(method)
	faults = append(faults, e.statusFaults(op, method)...)
	if e.Body != nil {
		faults = append(faults, bodyFaults(op, e.Body.resolve(t, shapes))...)
	}
	want := e.Result.resolve(t, shapes)
	parameters := slices.Concat(item.Parameters, op.Parameters)
	if e.isPaged() {
		want = maps.Clone(want)
		if want == nil {
			want = fields{}
		}
		maps.Copy(want, fields{"items": {Type: "array"}, "page": {Type: "integer"}, "pageSize": {Type: "integer"}, "total": {Type: "integer"}})
	}
	if len(want) > 0 {
		schema := jsonOf(op.Responses.Value(e.success(method)))
		if schema == nil {
			return append(faults, "answers with no JSON")
		}
		faults = append(faults, want.check(schema)...)
	}
	faults = append(faults, e.queryFaults(parameters)...)
	return append(faults, e.headerFaults(doc, op, parameters)...)
}

// isPaged reports whether the operation is a paged list of the admin console, which has an envelope.
func (e entry) isPaged() bool {
	_, paged := e.Query["pageSize"]
	return paged
}

func (e entry) statusFaults(op *openapi3.Operation, method string) (faults []string) {
	for _, status := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		if strings.HasPrefix(status, "2") && status != e.success(method) {
			faults = append(faults, "answers "+status)
		}
	}
	if op.Responses.Value(e.success(method)) == nil {
		faults = append(faults, "doesn't answer "+e.success(method))
	}
	return faults
}

func bodyFaults(op *openapi3.Operation, want fields) []string {
	if op.RequestBody == nil {
		return []string{"takes no body"}
	}
	content := op.RequestBody.Value.Content.Get("application/json")
	if content == nil {
		return []string{"takes no JSON"}
	}
	faults := want.check(content.Schema.Value)
	for i := range faults {
		faults[i] = "body: " + faults[i]
	}
	return faults
}

func (e entry) queryFaults(parameters openapi3.Parameters) (faults []string) {
	for name, want := range e.Query {
		p := parameters.GetByInAndName(openapi3.ParameterInQuery, name)
		if p == nil {
			faults = append(faults, "takes no query parameter "+name)
			continue
		}
		for _, fault := range want.check(p.Schema.Value) {
			faults = append(faults, "query parameter "+name+" "+fault)
		}
		if p.Required {
			faults = append(faults, "query parameter "+name+" must be optional")
		}
	}
	return faults
}

// headerFaults searches each header among the parameters and the signatures in the
// operation's security.
func (e entry) headerFaults(doc *openapi3.T, op *openapi3.Operation, parameters openapi3.Parameters) (faults []string) {
	for _, name := range e.Headers {
		if p := parameters.GetByInAndName(openapi3.ParameterInHeader, name); p != nil && p.Required {
			continue
		}
		if !securedBy(doc, op, name) {
			faults = append(faults, "doesn't require the header "+name)
		}
	}
	return faults
}

func securedBy(doc *openapi3.T, op *openapi3.Operation, header string) bool {
	if op.Security == nil || len(*op.Security) == 0 {
		return false
	}
	for _, alternative := range *op.Security {
		found := false
		for scheme := range alternative {
			s := doc.Components.SecuritySchemes[scheme].Value
			found = found || s.In == openapi3.ParameterInHeader && s.Name == header
		}
		if !found {
			return false
		}
	}
	return true
}

func jsonOf(r *openapi3.ResponseRef) *openapi3.Schema {
	if r == nil {
		return nil
	}
	content := r.Value.Content.Get("application/json")
	if content == nil || content.Schema == nil {
		return nil
	}
	return content.Schema.Value
}
