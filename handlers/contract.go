package handlers

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
)

// contract is the API document, ready to check requests against. The router
// has found the operation already, so a map lookup replaces a second search.
type contract struct {
	operations map[string]*operation // by method and echo route
	options    *openapi3filter.Options
}

// operation is one operation of the document.
type operation struct {
	route    *routers.Route
	security openapi3.SecurityRequirements
	// hasBody: it reads a JSON body. Bodies of any other type reach the handler
	// as they came.
	hasBody bool
	unbuilt bool
	// bearer: a token or key in the Authorization header lets callers in.
	bearer bool
	// timeout is the time in which it has to answer.
	timeout time.Duration
	// maxBody is the largest body that it takes, in bytes.
	maxBody int64
	// stores says what it stores.
	stores stores
	// class says which limit it has.
	class class
	// idempotent: it takes an Idempotency-Key.
	idempotent bool
	// anything: whatever the request holds reaches the handler, as it came.
	anything bool
}

// anyMethod stands for every method, and anyPath for every path behind a route:
// what the router passes on to the handler of an operation that takes any request.
const (
	anyMethod = "*"
	anyPath   = "/*"
)

// spec is the API document, read once per process: that takes long, and nothing
// changes it.
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
			openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(checkTime)),
		},
	}}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if c.operations[method+" "+echoRoute(path)], err = newOperation(doc, path, method, op); err != nil {
				return nil, fmt.Errorf("the embedded API document: %w", err)
			}
			if o := c.operations[method+" "+echoRoute(path)]; o.anything {
				c.operations[anyMethod+" "+echoRoute(path)] = o
				c.operations[anyMethod+" "+echoRoute(path)+anyPath] = o
			}
		}
	}
	return c, nil
}

// newOperation settles what can be settled before there is a request.
func newOperation(doc *openapi3.T, path, method string, op *openapi3.Operation) (*operation, error) {
	security := doc.Security
	if op.Security != nil {
		security = *op.Security
	}
	// Who calls is settled before the body is read; the validator is given a
	// copy of the operation that asks for nothing.
	open := *op
	open.Security = openapi3.NewSecurityRequirements()
	o := &operation{
		route:      &routers.Route{Spec: doc, Path: path, PathItem: doc.Paths.Value(path), Method: method, Operation: &open},
		security:   security,
		hasBody:    op.RequestBody != nil && op.RequestBody.Value.Content[echo.MIMEApplicationJSON] != nil,
		bearer:     takesBearer(security, doc.Components.SecuritySchemes),
		idempotent: idempotent(method, path, op, len(security) == 0),
		anything:   op.Extensions["x-any-request"] == true,
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

// jsonBody is the schema of the operation's JSON body.
func (o *operation) jsonBody() *openapi3.Schema {
	return o.route.Operation.RequestBody.Value.Content[echo.MIMEApplicationJSON].Schema.Value
}

// echoRoute rewrites /a/{id} to /a/:id.
func echoRoute(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// find is the operation of the route that matched; nil for pages and media.
func (c *contract) find(e echo.Context) *operation {
	if op, ok := c.operations[e.Request().Method+" "+e.Path()]; ok {
		return op
	}
	return c.operations[anyMethod+" "+e.Path()]
}

// validate checks parameters and body against the document. What it has checked
// is what the handler gets, defaults included. Like all middleware it is put
// together anew for each request: what takes time is done in newContract.
func (c *contract) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		op := c.find(e)
		if op == nil {
			return next(e)
		}
		storable(e)
		r := e.Request()
		if op.anything {
			e.SetRequest(r.WithContext(context.WithValue(r.Context(), requestKey, r)))
			return next(e)
		}
		if op.hasBody && r.ContentLength != 0 && !isJSON(r) {
			return echo.NewHTTPError(http.StatusUnsupportedMediaType, "send the body as application/json")
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
			Request: r, PathParams: params, QueryParams: e.QueryParams(), Route: op.route, Options: c.options,
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

func isJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	return err == nil && media == echo.MIMEApplicationJSON
}
