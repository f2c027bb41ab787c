// Package request holds the pipeline's results about a request: the caller, the client's address, the request's id.
// Operations read them from their context.
package request

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
)

type key int

const (
	originKey key = iota
	urlKey
	callerKey
	adminKey
	wholeKey
	acceptKey
)

// WithOrigin adds the client's address and the request's id.
func WithOrigin(ctx context.Context, o tenancy.Origin) context.Context {
	return context.WithValue(ctx, originKey, o)
}

// Origin returns the client's address and the request's id, for operations without a caller.
func Origin(ctx context.Context) tenancy.Origin {
	o, _ := ctx.Value(originKey).(tenancy.Origin)
	return o
}

// ID returns the request's id.
func ID(ctx context.Context) string { return Origin(ctx).RequestID }

// WithURL adds the URL of the request.
func WithURL(ctx context.Context, u *url.URL) context.Context {
	return context.WithValue(ctx, urlKey, u)
}

// URL returns the URL of the request, which must not be changed.
func URL(ctx context.Context) *url.URL {
	if u, ok := ctx.Value(urlKey).(*url.URL); ok {
		return u
	}
	return &url.URL{}
}

// WithAccept adds the request's Accept header, for operations that answer in several media types.
func WithAccept(ctx context.Context, accept string) context.Context {
	if accept == "" {
		return ctx
	}
	return context.WithValue(ctx, acceptKey, accept)
}

// PrefersCSV reports whether the request accepts text/csv rather than JSON (RFC 9110, 12.5.1): its Accept header names text/csv, and
// JSON with a lower weight or not at all.
func PrefersCSV(ctx context.Context) bool {
	accept, _ := ctx.Value(acceptKey).(string)
	csv, json := 0.0, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if text, given := params["q"]; given {
			if weight, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		switch kind {
		case "text/csv":
			csv = weight
		case "application/json":
			json = weight
		}
	}
	return csv > json
}

// WithCaller adds the caller. It gets the request's address and id.
func WithCaller(ctx context.Context, c tenancy.Caller) context.Context {
	o := Origin(ctx)
	c.IP, c.RequestID = o.IP, o.RequestID
	return context.WithValue(ctx, callerKey, c)
}

// Caller returns the caller of the request. For operations without a tenant's security scheme it is the zero Caller.
func Caller(ctx context.Context) tenancy.Caller {
	c, _ := ctx.Value(callerKey).(tenancy.Caller)
	return c
}

// WithAdmin adds the admin who calls. The Caller gets the request's address and id.
func WithAdmin(ctx context.Context, c platform.Caller) context.Context {
	o := Origin(ctx)
	c.IP, c.RequestID = o.IP, o.RequestID
	return context.WithValue(ctx, adminKey, c)
}

// Admin returns the admin who calls. For operations without adminToken it is the zero Caller.
func Admin(ctx context.Context) platform.Caller {
	c, _ := ctx.Value(adminKey).(platform.Caller)
	return c
}

// WithWhole adds the whole request, for operations that accept any request (x-any-request).
func WithWhole(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, wholeKey, r)
}

// Whole returns the whole request of an operation that accepts any request, and nil for other operations.
func Whole(ctx context.Context) *http.Request {
	r, _ := ctx.Value(wholeKey).(*http.Request)
	return r
}
