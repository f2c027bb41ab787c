package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// status maps a problem's kind to its HTTP status. No other code does.
func status(k problem.Kind) int {
	switch k {
	case problem.Invalid:
		return http.StatusBadRequest
	case problem.Unauthenticated:
		return http.StatusUnauthorized
	case problem.Forbidden:
		return http.StatusForbidden
	case problem.NotFound:
		return http.StatusNotFound
	case problem.Conflict:
		return http.StatusConflict
	case problem.PreconditionFailed:
		return http.StatusPreconditionFailed
	case problem.Unprocessable:
		return http.StatusUnprocessableEntity
	case problem.RateLimited:
		return http.StatusTooManyRequests
	case problem.Unavailable:
		return http.StatusServiceUnavailable
	case problem.NotImplemented:
		return http.StatusNotImplemented
	default:
		return http.StatusInternalServerError
	}
}

// problems writes the errors of all layers in one format.
type problems struct {
	log      *slog.Logger
	failures *failureLog
}

// handle is echo's error handler.
func (p problems) handle(err error, c echo.Context) {
	if c.Response().Committed {
		return // the answer has already begun
	}
	ctx := c.Request().Context()
	body := p.describe(c.Request(), err)
	body.RequestID = request.ID(ctx)
	p.failures.failed(ctx, err, body, c.Path())
	h := c.Response().Header()
	if body.Status == http.StatusUnauthorized {
		h.Set(echo.HeaderWWWAuthenticate, "Bearer")
	}
	if after := retryAfter(err, body.Status); after > 0 {
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	if known, ok := problem.As(err); ok && known.ETag != "" {
		h.Set("ETag", known.ETag)
	}
	h.Set(echo.HeaderContentType, "application/problem+json")
	c.Response().WriteHeader(body.Status)
	if c.Request().Method == http.MethodHead {
		return
	}
	if err := json.NewEncoder(c.Response()).Encode(body); err != nil {
		p.log.DebugContext(ctx, "write problem", "error", err)
	}
}

const (
	// databasePause is the Retry-After while the database is away: its restart
	// takes a second or two.
	databasePause = 2 * time.Second
	// unavailablePause is the Retry-After while any other part is away.
	unavailablePause = 5 * time.Second
)

// retryAfter returns the time after which a client may repeat a request, or 0 if
// the answer doesn't depend on time. Every 503 has one.
func retryAfter(err error, status int) time.Duration {
	known, ok := problem.As(err)
	switch {
	case ok && known.RetryAfter > 0:
		return known.RetryAfter
	case status != http.StatusServiceUnavailable:
		return 0
	case !ok && postgres.IsUnavailable(err):
		return databasePause
	default:
		return unavailablePause
	}
}

// statusHungUp is the status of a request whose client disconnected before the
// answer. It appears only in the log and the metrics, where it doesn't count as a
// fault of this server.
const statusHungUp = 499

// hungUp reports whether the request failed because its client disconnected.
func hungUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

func (p problems) describe(r *http.Request, err error) api.Problem {
	ctx := r.Context()
	var he *echo.HTTPError
	limit, large := tooLarge(err)
	switch known, ok := problem.As(err); {
	case errors.Is(err, context.Canceled) && timeIsOver(ctx):
		return describeKnown(timedOut(r.Method))
	case hungUp(ctx, err):
		return plain(statusHungUp, "hung_up", "the request was cancelled")
	case ok:
		return describeKnown(known)
	case large:
		return plain(http.StatusRequestEntityTooLarge, "body_too_large", "the body is larger than "+inBytes(limit))
	case errors.As(err, &he):
		return describeHTTP(he)
	case postgres.IsUnstorable(err):
		return plain(http.StatusBadRequest, "invalid_input", "the request "+postgres.UnstorableFault)
	case timeIsOver(ctx) && errors.Is(err, context.DeadlineExceeded): // also in an attempt to connect to the database
		return describeKnown(timedOut(r.Method))
	case postgres.IsUnavailable(err):
		return plain(http.StatusServiceUnavailable, "database_unavailable", "the database can't be used at the moment; try again")
	case errors.Is(err, context.DeadlineExceeded): // a part of the work had a shorter deadline
		return describeKnown(timedOut(r.Method))
	default:
		return plain(http.StatusInternalServerError, "internal_error", "internal error; quote the requestId when you report it")
	}
}

func describeKnown(e *problem.Error) api.Problem {
	body := plain(status(e.Kind), e.Code, e.Message)
	for _, f := range e.Fields {
		body.Errors = append(body.Errors, api.FieldProblem{Field: f.Field, Message: f.Message})
	}
	if l := e.Limit; l != nil {
		body.Limit = &api.ProblemLimit{Name: l.Name, Value: l.Value, Plan: api.PlanTier(l.Plan)}
		if l.UpgradeTo != "" {
			body.Limit.UpgradeTo = new(api.PlanTier(l.UpgradeTo))
		}
	}
	return body
}

// describeHTTP replaces the texts of the router and the binder by our own.
func describeHTTP(he *echo.HTTPError) api.Problem {
	switch he.Code {
	case http.StatusNotFound:
		return plain(he.Code, "not_found", "there is nothing at this path")
	case http.StatusMethodNotAllowed:
		return plain(he.Code, "method_not_allowed", "this path doesn't take this method; the Allow header lists those that it does")
	case http.StatusRequestTimeout:
		return plain(he.Code, "request_timeout", "the body took too long to arrive; send the request again")
	case http.StatusUnsupportedMediaType:
		return plain(he.Code, "unsupported_media_type", "send the body as application/json")
	case http.StatusBadRequest:
		return describeBinding(he)
	default:
		return plain(he.Code, strings.ReplaceAll(strings.ToLower(http.StatusText(he.Code)), " ", "_"), http.StatusText(he.Code))
	}
}

// describeBinding names the parameter that the generated code couldn't parse.
func describeBinding(he *echo.HTTPError) api.Problem {
	body := plain(he.Code, "invalid_input", "the request is not valid")
	text, _ := he.Message.(string)
	if named, ok := strings.CutPrefix(text, "Invalid format for parameter "); ok {
		name, _, _ := strings.Cut(named, ":")
		body.Errors = []api.FieldProblem{{Field: name, Message: "has no valid value"}}
	}
	return body
}

func plain(code int, name, message string) api.Problem {
	return api.Problem{Type: "about:blank", Title: http.StatusText(code), Status: code, Code: name, Message: message}
}

// inputProblem converts the validator's error to a problem with one entry per fault.
func inputProblem(err error) error {
	faults := fields(err, wholeBody)
	return problem.BadFields(faults[:min(len(faults), maxFaults)])
}

// maxFaults is the largest number of faults in one answer; the rest is left out.
const maxFaults = 100

// wholeBody is the field name of faults that concern the body as a whole.
const wholeBody = "body"

// notBlank is the pattern that the document uses for non-blank texts.
const notBlank = `\S`

// fields flattens the validator's error tree. where names the part of the request
// for errors without a field.
func fields(err error, where string) []problem.Field {
	// Type switches, not errors.As, so that every node of the tree is visited once.
	switch e := err.(type) { //nolint:errorlint // see above
	case openapi3.MultiError:
		var list []problem.Field
		for _, one := range e {
			list = append(list, fields(one, where)...)
		}
		return list
	case *openapi3filter.RequestError:
		if e.Parameter != nil {
			where = e.Parameter.Name
		}
		if e.Err == nil {
			return []problem.Field{{Field: where, Message: e.Reason}}
		}
		return fields(e.Err, where)
	case *openapi3.SchemaError:
		// A described reference is an allOf of one part: the part's faults say more.
		var parts openapi3.MultiError
		if e.SchemaField == "allOf" && errors.As(e.Origin, &parts) {
			return fields(parts, where)
		}
		return []problem.Field{schemaFault(e, where)}
	case *openapi3filter.ParseError:
		return []problem.Field{{Field: where, Message: parseReason(e)}}
	default:
		return []problem.Field{{Field: where, Message: err.Error()}}
	}
}

// parseReason returns why a value could not be parsed.
func parseReason(e *openapi3filter.ParseError) string {
	if root := e.RootCause(); root != nil {
		return root.Error()
	}
	return e.Error()
}
