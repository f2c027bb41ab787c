package contract_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain returns a name as the strictest generator uses it: file systems fold case, and
// identifiers contain only letters and digits.
func plain(name string) string {
	return strings.ToLower(regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(name, ""))
}

// distinct fails for names whose plain forms are equal.
func distinct(t *testing.T, what string, names []string) {
	t.Helper()
	seen := map[string]string{}
	for _, name := range names {
		other, taken := seen[plain(name)]
		assert.False(t, taken, "%s: %s and %s are one name to some generator", what, other, name)
		seen[plain(name)] = name
	}
}

// operationsOf lists all operations.
func operationsOf(doc *openapi3.T) []*openapi3.Operation {
	var list []*openapi3.Operation
	for _, url := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for _, op := range doc.Paths.Value(url).Operations() {
			list = append(list, op)
		}
	}
	return list
}

func TestNamesStayApartInEveryLanguage(t *testing.T) {
	t.Parallel()
	doc := document(t)
	distinct(t, "schemas", slices.Collect(maps.Keys(doc.Components.Schemas)))
	var ids, tags []string
	for _, op := range operationsOf(doc) {
		ids = append(ids, op.OperationID)
		var parameters []string
		for _, p := range op.Parameters {
			parameters = append(parameters, p.Value.Name)
		}
		distinct(t, "parameters of "+op.OperationID, parameters)
	}
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
	}
	distinct(t, "operations", ids)
	distinct(t, "tags", tags)
	for name, s := range doc.Components.Schemas {
		distinct(t, "properties of "+name, slices.Collect(maps.Keys(s.Value.Properties)))
		var values []string
		for _, v := range s.Value.Enum {
			values = append(values, fmt.Sprint(v))
		}
		distinct(t, "values of "+name, values)
	}
}

// endings are the suffixes with which generators derive their own names from the names of
// operations, tags and schemas.
func endings() []string {
	return []string{
		// oapi-codegen
		"Params", "JSONBody", "JSONRequestBody", "RequestBody", "RequestObject", "ResponseObject", "JSONResponse", "ResponseHeaders", "Scopes",
		// openapi-generator
		"Request", "Response", "Api", "Inner", "AllOf", "AnyOf", "OneOf", "Enum",
	}
}

// taken are names that exist in clients of any of the languages: classes of the generators'
// libraries, of the languages, and of browsers, where a type that isn't imported would
// silently be another one.
func taken() []string {
	return strings.Fields(`
		Api ApiClient ApiError ApiException ApiKeyAuth ApiType Auth BaseApi Client ClientInterface ClientOption ClientWithResponses
		Configuration Context HttpBasicAuth HttpBearerAuth HttpClient HttpRequestDoer InlineObject Middleware Model ModelNull
		Pair RequestEditorFn RequiredError Rest RestClient Server ServerConfiguration ServerInterface StrictServerInterface
		Any Array Boolean Byte Character Class Data Date DateTime Decimal Dictionary Double Enum Error Exception Float Function
		Integer List Long Map Number Object Optional Promise Record Result Set String Symbol Task Thread Tuple Type Unit Url Uuid Void
		Blob Document Element Event File FormData Headers Location MediaStream Node Notification Request Response Storage Text Window Worker
		components operations paths webhooks`)
}

func TestSchemasLeaveGeneratorsTheirNames(t *testing.T) {
	t.Parallel()
	doc := document(t)
	made := map[string]string{} // plain name -> its origin
	for _, op := range operationsOf(doc) {
		for _, ending := range endings() {
			made[plain(op.OperationID+ending)] = "operation " + op.OperationID
		}
		for status := range op.Responses.Map() {
			made[plain(op.OperationID+status+"JSONResponse")] = "operation " + op.OperationID
		}
	}
	for _, tag := range doc.Tags {
		made[plain(tag.Name+"Api")] = "tag " + tag.Name
	}
	for scheme := range doc.Components.SecuritySchemes {
		made[plain(scheme+"Scopes")] = "security scheme " + scheme
	}
	for _, name := range taken() {
		made[plain(name)] = "a library"
	}
	constants(t, doc, made)
	for name := range doc.Components.Schemas {
		by, isMade := made[plain(name)]
		assert.False(t, isMade, "%s is also what generators make of %s", name, by)
		for _, ending := range endings() {
			assert.False(t, strings.HasSuffix(name, ending), "%s: generators end names with %s themselves", name, ending)
		}
	}
}

// constants adds the names of enum values, which Go keeps in the same namespace as
// type names.
func constants(t *testing.T, doc *openapi3.T, made map[string]string) {
	t.Helper()
	enums := map[string][]any{}
	for name, s := range doc.Components.Schemas {
		enums[name] = append(enums[name], s.Value.Enum...)
		if s.Value.Discriminator != nil { // ogen makes a constant for each part of a union
			for _, part := range s.Value.OneOf {
				enums[path.Base(part.Ref)] = append(enums[path.Base(part.Ref)], name)
			}
		}
		for property, p := range s.Value.Properties {
			if p.Ref == "" && len(p.Value.Enum) > 0 { // the name of its type depends on its place
				enums[name+property] = p.Value.Enum
				made[plain(name+property)] = "a property of " + name
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(enums)) {
		for _, value := range enums[name] {
			constant := plain(fmt.Sprint(name, value))
			by, isMade := made[constant]
			require.False(t, isMade, "the value %v of %s gets a name that %s has", value, name, by)
			made[constant] = "enum " + name
		}
	}
}

func TestOperationsAreNoReservedWords(t *testing.T) {
	t.Parallel()
	reserved := map[string]bool{}
	for word := range strings.FieldsSeq(`
		abstract actor any as assert associatedtype async await base bool boolean break by byte case catch chan char checked class
		companion const constructor continue crossinline data debugger decimal declare def default defer deinit del delegate delete do
		double dynamic elif else enum event except exec explicit export extends extension extern external fallthrough false field file
		fileprivate final finally fixed float for foreach from fun func function get global go goto guard if implements implicit import in
		indirect infix init inline inner inout instanceof int interface internal is lambda lateinit lazy let lock long map mutating namespace
		native new nil noinline none nonlocal not null object of open operator optional or out override package params pass persist precedence
		print private property protected protocol public raise range readonly record ref reified repeat require required return
		rethrows sbyte sealed select self set short sizeof stackalloc static strictfp string struct subscript super suspend switch
		symbol synchronized tailrec this throw throws transient true try type typealias typeof uint ulong unchecked undefined union unique
		unknown unowned unsafe ushort using val value var vararg virtual void volatile weak when where while with yield`) {
		reserved[word] = true
	}
	for _, op := range operationsOf(document(t)) {
		assert.False(t, reserved[strings.ToLower(op.OperationID)], "%s is a reserved word somewhere", op.OperationID)
	}
}
