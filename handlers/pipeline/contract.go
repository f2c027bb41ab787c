package pipeline

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/handlers/request"
)

// contract is the API document, ready to check requests against. It finds an
// operation by a map lookup, because the router has already matched the route.
type contract struct {
	operations map[string]*operation // by method and echo route
	options    *openapi3filter.Options
}

// operation is one operation of the document.
type operation struct {
	route    *routers.Route
	security openapi3.SecurityRequirements
	// parameters are those of its path and its own.
	parameters openapi3.Parameters
	// hasBody: it reads a JSON body. The handler gets bodies of other types unchanged.
	hasBody bool
	// hasFile: its body is a file, which the handler reads without validation.
	hasFile bool
	unbuilt bool
	// bearer: a token or key in the Authorization header can authenticate its callers.
	bearer bool
	// endsImpersonation: it only ends an impersonation.
	endsImpersonation bool
	// mixed: participants and others can call it.
	mixed bool
	// timeout is the time within which it must answer.
	timeout time.Duration
	// maxBody is the largest body that it accepts, in bytes.
	maxBody int64
	// stores is its x-stores.
	stores stores
	// class selects its rate limit.
	class class
	// idempotent: it accepts an Idempotency-Key.
	idempotent bool
	// counted: calls of it count as a tenant's calls of the API.
	counted bool
	// anything: its handler gets every request unchanged, without validation.
	anything bool
}

// anyMethod stands for every method, anyPath for every path behind a route. They
// register the operations that accept any request.
const (
	anyMethod = "*"
	anyPath   = "/*"
)

// spec is the API document. It is parsed once per process, because that is slow
// and the document never changes.
//
//nolint:gochecknoglobals // as above
var spec = sync.OnceValues(api.GetSpec)

func newContract() (*contract, error) {
	doc, err := spec()
	if err != nil {
		return nil, fmt.Errorf("read the embedded API document: %w", err)
	}
	c := &contract{operations: map[string]*operation{}, options: &openapi3filter.Options{
		MultiError: true, KeepValidatedValue: true,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{
			openapi3.WithStringFormatValidator("email", openapi3.NewCallbackValidator(checkEmail)),
			openapi3.WithStringFormatValidator("uri", openapi3.NewCallbackValidator(checkURI)),
			openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(CheckTime)),
		},
	}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if c.operations[method+" "+echoRoute(path)], err = newOperation(doc, path, method, op); err != nil {
				return nil, fmt.Errorf("the embedded API document: %w", err)
			}
			o := c.operations[method+" "+echoRoute(path)]
			if o.anything {
				c.operations[anyMethod+" "+echoRoute(path)] = o
				c.operations[anyMethod+" "+echoRoute(path)+anyPath] = o
			}
		}
	}
	return c, nil
}

// newOperation computes everything about an operation that doesn't depend on a request.
func newOperation(doc *openapi3.T, path, method string, op *openapi3.Operation) (*operation, error) {
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	// Callers are authenticated before the body is read, so the validator gets a
	// copy of the operation without security.
	open := *op
	open.Security = openapi3.NewSecurityRequirements()
	item := doc.Paths.Value(path)
	o := &operation{
		route:             &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: &open},
		security:          security,
		parameters:        slices.Concat(item.Parameters, op.Parameters),
		hasBody:           op.RequestBody != nil && op.RequestBody.Value.Content[echo.MIMEApplicationJSON] != nil,
		hasFile:           op.RequestBody != nil && op.RequestBody.Value.Content[echo.MIMEOctetStream] != nil,
		bearer:            takesBearer(security, doc.Components.SecuritySchemes),
		endsImpersonation: strings.EqualFold(op.OperationID, endImpersonation),
		mixed:             isMixed(security),
		idempotent:        idempotent(method, path, op, len(security) == 0),
		counted:           path == "/v1/me" || strings.HasPrefix(path, "/v1/me/"),
		anything:          op.Extensions["x-any-request"] == true,
	}
	var err error
	if o.class, err = classOf(op, len(security) == 0, o.bearer); err != nil {
		return nil, err
	}
	if o.timeout, err = timeoutOf(op); err != nil {
		return nil, err
	}
	if o.stores, err = storesOf(op); err != nil {
		return nil, err
	}
	o.maxBody, err = maxBodyOf(op)
	return o, err
}

// optionsOf returns the validator's options. It doesn't read files, of which it would make copies.
func (c *contract) optionsOf(op *operation) *openapi3filter.Options {
	if !op.hasFile {
		return c.options
	}
	options := *c.options
	options.ExcludeRequestBody = true
	return &options
}

// jsonBody returns the schema of the operation's JSON body.
func (o *operation) jsonBody() *openapi3.Schema {
	return o.route.Operation.RequestBody.Value.Content[echo.MIMEApplicationJSON].Schema.Value
}

// echoRoute rewrites /a/{id} to /a/:id.
func echoRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// find returns the operation of the matched route, or nil for pages and media.
func (c *contract) find(e echo.Context) *operation {
	if op, ok := c.operations[e.Request().Method+" "+e.Path()]; ok {
		return op
	}
	return c.operations[anyMethod+" "+e.Path()]
}

// validate checks parameters and body against the document. The handler gets the
// validated values, with the document's defaults filled in.
func (c *contract) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		op := c.find(e)
		if op == nil {
			return next(e)
		}
		replaceUnknown(e, op)
		r := e.Request()
		if op.anything {
			e.SetRequest(r.WithContext(request.WithWhole(r.Context(), r)))
			return next(e)
		}
		if err := op.checkMedia(r); err != nil {
			return err
		}
		if err := checkQuery(e, op); err != nil {
			return err
		}
		if op.hasBody {
			if err := readJSON(r, op); err != nil {
				return err
			}
		}
		params := make(map[string]string, len(e.ParamNames()))
		for i, name := range e.ParamNames() {
			params[name] = e.ParamValues()[i]
		}
		err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, QueryParams: e.QueryParams(), Route: op.route, Options: c.optionsOf(op),
		})
		if err != nil {
			return inputProblem(err)
		}
		if op.hasBody {
			if err := checkBody(r, op); err != nil {
				return err
			}
		}
		return next(e)
	}
}

// checkMedia refuses a body of another media type.
func (o *operation) checkMedia(r *http.Request) error {
	switch {
	case o.hasBody && r.ContentLength != 0 && !isMedia(r, echo.MIMEApplicationJSON):
		return echo.NewHTTPError(http.StatusUnsupportedMediaType, "send the body as application/json")
	case o.hasFile && !isMedia(r, echo.MIMEOctetStream):
		return echo.NewHTTPError(http.StatusUnsupportedMediaType, "send the file as application/octet-stream")
	}
	return nil
}

func isMedia(r *http.Request, want string) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	return err == nil && media == want
}
