package handlers_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/handlers"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// operation is one operation of the document, for tests that walk through it.
type operation struct {
	id, method, path string
	spec             *openapi3.Operation
	// query holds the query parameters, path the names of those in the path.
	query      map[string]*openapi3.Parameter
	pathParams []string
	// header holds the names of its header parameters.
	header []string
}

// operations lists the document's operations in a fixed order.
func operations(t *testing.T) []operation {
	t.Helper()
	var list []operation
	doc := apitest.Document(t)
	for path, item := range doc.Paths.Map() {
		for method, spec := range item.Operations() {
			op := operation{id: spec.OperationID, method: method, path: path, spec: spec, query: map[string]*openapi3.Parameter{}}
			for _, p := range slices.Concat(item.Parameters, spec.Parameters) {
				switch p.Value.In {
				case openapi3.ParameterInQuery:
					op.query[p.Value.Name] = p.Value
				case openapi3.ParameterInHeader:
					op.header = append(op.header, p.Value.Name)
				case openapi3.ParameterInPath:
					op.pathParams = append(op.pathParams, p.Value.Name)
				}
			}
			list = append(list, op)
		}
	}
	slices.SortFunc(list, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	require.NotEmpty(t, list)
	return list
}

// TestDocumentStyle checks the rules for writing this API's document.
func TestDocumentStyle(t *testing.T) {
	t.Parallel()
	doc := apitest.Document(t)
	require.NoError(t, doc.Validate(t.Context()))
	tags := map[string]bool{}
	for _, tag := range doc.Tags {
		require.NotEmpty(t, tag.Description, tag.Name)
		tags[tag.Name] = true
	}
	used := map[string]bool{}
	ids := map[string]bool{}
	for _, op := range operations(t) {
		require.Regexp(t, `^[a-z][a-zA-Z0-9]*$`, op.id, "%s %s", op.method, op.path)
		require.False(t, ids[op.id], "operationId %s is used twice", op.id)
		ids[op.id] = true
		require.Len(t, op.spec.Tags, 1, op.id)
		require.True(t, tags[op.spec.Tags[0]], "%s: tag %s is not declared", op.id, op.spec.Tags[0])
		used[op.spec.Tags[0]] = true
		require.NotEmpty(t, op.spec.Summary, op.id)
		require.NotNil(t, op.spec.Security, "%s: security must be explicit, [] for none", op.id)
		checkResponses(t, op)
		if op.spec.RequestBody != nil {
			for media, content := range op.spec.RequestBody.Value.Content {
				require.NotEmpty(t, content.Schema.Ref, "%s: the body in %s has no name", op.id, media)
			}
		}
		for name, p := range op.query {
			require.False(t, p.Schema.Ref == "" && len(p.Schema.Value.Enum) > 0, "%s: the enum of %s has no name", op.id, name)
		}
	}
	require.Equal(t, tags, used, "every tag is used")
}

// otherSuccess lists the POSTs that answer with a status other than 201: those
// of paths that answer every method alike.
func otherSuccess() map[string]string {
	return map[string]string{"deleteCaptureUrlByPost": "200", "capturePost": "200"}
}

// checkResponses requires 200, or 201 for POST, with a named schema for
// success, and a Problem as the default for everything else.
func checkResponses(t *testing.T, op operation) {
	t.Helper()
	success := "200"
	if op.method == http.MethodPost {
		success = "201"
	}
	if other, ok := otherSuccess()[op.id]; ok {
		success = other
	}
	responses := op.spec.Responses.Map()
	require.Contains(t, responses, success, op.id)
	require.Contains(t, responses, "default", op.id)
	require.Equal(t, "#/components/responses/Problem", responses["default"].Ref, op.id)
	for status, r := range responses {
		if status == "default" || status == "101" { // an upgrade is not followed by a body
			continue
		}
		require.False(t, status[0] == '2' && status != success, "%s answers %s", op.id, status)
		require.NotEmpty(t, r.Value.Content, "%s: %s has no body", op.id, status)
		for media, content := range r.Value.Content {
			require.NotEmpty(t, content.Schema.Ref, "%s: the %s answer in %s has no name", op.id, status, media)
		}
	}
}

func TestSchemaStyle(t *testing.T) {
	t.Parallel()
	doc := apitest.Document(t)
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		require.NotEqual(t, "Error", name)
		require.False(t, strings.HasSuffix(name, "Response"), "%s: generators use this ending themselves", name)
		require.Regexp(t, `^[A-Z][A-Za-z0-9]*$`, name)
		checkSchema(t, name, doc.Components.Schemas[name].Value, true)
	}
}

// checkSchema refuses objects and enums without a name of their own. An enum of
// one value is a constant, such as the name in an event.
func checkSchema(t *testing.T, where string, s *openapi3.Schema, named bool) {
	t.Helper()
	_, copied := s.Extensions["x-go-type"] // a nullable copy of a schema with a name
	inline := s.Type.Is(openapi3.TypeObject) && len(s.Properties) > 0 && !copied
	require.False(t, !named && len(s.Enum) > 1 && !copied, "%s: an enum needs a name", where)
	require.False(t, !named && inline, "%s: an object needs a name", where)
	for name, p := range s.Properties {
		if where != "CloudPushServiceAccount" { // a file in the provider's own spelling
			require.Regexp(t, `^[a-z][A-Za-z0-9]*$|^(client|server)_id$`, name, where)
		}
		if p.Ref == "" {
			checkSchema(t, where+"."+name, p.Value, false)
		}
	}
	for _, required := range s.Required {
		require.Contains(t, s.Properties, required, "%s requires what it doesn't have", where)
	}
	if s.Items != nil && s.Items.Ref == "" {
		checkSchema(t, where+"[]", s.Items.Value, false)
	}
	for i, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if part.Ref == "" {
			checkSchema(t, fmt.Sprintf("%s part %d", where, i), part.Value, false)
		}
	}
}

func TestScopesOfTheDocumentAreTheScopesOfTheRoles(t *testing.T) {
	t.Parallel()
	known := map[tenancy.Scope]bool{}
	for _, e := range apitest.Document(t).Components.Schemas["Scope"].Value.Enum {
		known[tenancy.Scope(fmt.Sprint(e))] = true
	}
	owner := map[tenancy.Scope]bool{}
	for _, scope := range tenancy.Owner.Scopes() {
		owner[scope] = true
	}
	require.Equal(t, known, owner)
	for _, op := range operations(t) {
		for _, scope := range scopesOf(op, "tenantToken", "userToken") {
			require.True(t, known[scope], "%s wants the unknown scope %s", op.id, scope)
		}
	}
}

// TestUnbuiltOperationsSayIt checks that operations which are only in the
// document answer 501 to an authorized caller for any content of the request,
// and that no other operation does.
func TestUnbuiltOperationsSayIt(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	unbuilt := unbuiltOperations()
	for _, op := range operations(t) {
		r := owner.Call(t, op.method, op.at("none"), nil)
		require.NotEqual(t, http.StatusMethodNotAllowed, r.Status, "%s has no route", op.id)
		switch {
		case unbuilt[strings.ToLower(op.id)] && r.Status != http.StatusUnauthorized:
			refused(t, r, op, http.StatusNotImplemented, "not_implemented")
		default:
			require.Less(t, r.Status, 500, op.id)
		}
	}
}

// TestTheReferencePageHasAPlaceForEverySection checks the extensions that the page shows: each tag is in one group, and each
// security scheme has a title, a line about its holder and a place in the list.
func TestTheReferencePageHasAPlaceForEverySection(t *testing.T) {
	t.Parallel()
	doc := apitest.Document(t)
	var tags, grouped []string
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
	}
	groups, _ := doc.Extensions["x-tagGroups"].([]any)
	for _, group := range groups {
		list, _ := group.(map[string]any)["tags"].([]any)
		for _, tag := range list {
			grouped = append(grouped, fmt.Sprint(tag))
		}
	}
	require.ElementsMatch(t, tags, grouped)

	places := map[any]string{}
	for name, scheme := range doc.Components.SecuritySchemes {
		require.NotEmpty(t, scheme.Value.Extensions["x-title"], name)
		require.NotEmpty(t, scheme.Value.Extensions["x-holder"], name)
		require.NotContains(t, places, scheme.Value.Extensions["x-order"], name)
		places[scheme.Value.Extensions["x-order"]] = name
	}
}

// unbuiltOperations returns the operations without a handler, by operationId in
// lower case.
func unbuiltOperations() map[string]bool {
	names := map[string]bool{}
	for _, name := range handlers.Unbuilt() {
		names[strings.ToLower(name)] = true
	}
	return names
}

// at returns the operation's path with every parameter replaced: by one id for
// each (a/b), or by the same id for all.
func (o operation) at(id string) string {
	path, ids := o.path, strings.Split(id, "/")
	for i, name := range o.pathParams {
		path = strings.ReplaceAll(path, "{"+name+"}", ids[min(i, len(ids)-1)])
	}
	return path
}

// scopesOf lists the scopes that the operation names under these schemes.
func scopesOf(op operation, schemes ...string) []tenancy.Scope {
	var list []tenancy.Scope
	for _, alternative := range *op.spec.Security {
		for _, scheme := range schemes {
			for _, s := range alternative[scheme] {
				list = append(list, tenancy.Scope(s))
			}
		}
	}
	return list
}
