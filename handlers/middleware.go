package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/console"
	"showfloor/internal/id"
)

type contextKey int

const (
	requestIDKey contextKey = iota
	callerKey
	adminKey
	originKey
	targetKey
	requestKey
)

// withRequestID gives the request an id and stores its origin. It ignores an id
// from the caller, because ids end up in logs.
func withRequestID(trusted proxies) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			requestID := id.New(id.Request)
			c.Response().Header().Set(echo.HeaderXRequestID, requestID)
			ctx := context.WithValue(c.Request().Context(), requestIDKey, requestID)
			ctx = context.WithValue(ctx, originKey, account.Origin{IP: trusted.clientIP(c.Request()), RequestID: requestID})
			ctx = context.WithValue(ctx, targetKey, c.Request().URL)
			c.SetRequest(c.Request().WithContext(ctx))
			return next(c)
		}
	}
}

// targetFrom returns the URL of the request.
func targetFrom(ctx context.Context) *url.URL {
	if target, ok := ctx.Value(targetKey).(*url.URL); ok {
		return target
	}
	return &url.URL{}
}

// requestFrom returns the whole request, for operations that accept any request.
func requestFrom(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey).(*http.Request)
	return r
}

// requestIDFrom returns the id that withRequestID gave.
func requestIDFrom(ctx context.Context) string {
	requestID, _ := ctx.Value(requestIDKey).(string)
	return requestID
}

// originFrom returns the request's address and id.
func originFrom(ctx context.Context) account.Origin {
	origin, _ := ctx.Value(originKey).(account.Origin)
	return origin
}

// callerFrom returns the caller of the request. For operations without a
// tenant's security scheme it is the zero Caller.
func callerFrom(ctx context.Context) account.Caller {
	caller, _ := ctx.Value(callerKey).(account.Caller)
	return caller
}

// adminFrom returns the admin who calls. For operations without adminToken it
// is the zero Caller.
func adminFrom(ctx context.Context) console.Caller {
	caller, _ := ctx.Value(adminKey).(console.Caller)
	return caller
}

// observe logs and counts each request. It logs the path as the matched route,
// never the path itself: paths and queries can hold tokens and keys.
func observe(log *slog.Logger, count func(method, route string, status int, took time.Duration)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err) // writes the response, so that its status is known below
			}
			took := time.Since(start)
			method, route, status := standardMethod(c.Request().Method), c.Path(), c.Response().Status
			if route == "" {
				route = "unknown"
			}
			count(method, route, status, took)
			level := slog.LevelDebug
			if status >= http.StatusBadRequest {
				level = slog.LevelInfo
			}
			if log.Enabled(c.Request().Context(), level) {
				log.LogAttrs(c.Request().Context(), level, "request",
					slog.String("method", method), slog.String("route", route), slog.Int("status", status),
					slog.Duration("took", took), slog.String("requestId", requestIDFrom(c.Request().Context())),
					slog.String("tenantId", callerFrom(c.Request().Context()).TenantID),
					slog.String("adminId", adminFrom(c.Request().Context()).AdminID))
			}
			return nil
		}
	}
}

// standardMethod replaces made-up methods by "other", so that clients can't
// fill logs and metrics with them.
func standardMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// recoverPanic turns a panic into an internal error with its stack.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r) // net/http's own way to close a connection
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}
