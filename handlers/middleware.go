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

// withRequestID names the request, and notes where it comes from; the caller's
// own header isn't believed, since it ends up in logs.
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

// targetFrom is the address that was asked for.
func targetFrom(ctx context.Context) *url.URL {
	if target, ok := ctx.Value(targetKey).(*url.URL); ok {
		return target
	}
	return &url.URL{}
}

// requestFrom is the whole request, for operations that take any.
func requestFrom(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey).(*http.Request)
	return r
}

// requestIDFrom is the id that withRequestID gave.
func requestIDFrom(ctx context.Context) string {
	requestID, _ := ctx.Value(requestIDKey).(string)
	return requestID
}

// originFrom is where the request comes from.
func originFrom(ctx context.Context) account.Origin {
	origin, _ := ctx.Value(originKey).(account.Origin)
	return origin
}

// callerFrom is who makes the request. Operations without a tenant's security
// scheme have the zero Caller.
func callerFrom(ctx context.Context) account.Caller {
	caller, _ := ctx.Value(callerKey).(account.Caller)
	return caller
}

// adminFrom is the admin who makes the request. Operations without adminToken
// have the zero Caller.
func adminFrom(ctx context.Context) console.Caller {
	caller, _ := ctx.Value(adminKey).(console.Caller)
	return caller
}

// observe logs each request and counts it. The path is logged as the route
// that matched, never as it came: paths and queries can hold tokens and keys.
func observe(log *slog.Logger, count func(method, route string, status int, took time.Duration)) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err) // writes the response, so that its status is known here
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

// standardMethod keeps what strangers make up out of logs and metrics.
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
				panic(r) // net/http's own way to drop a connection
			default:
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		return next(c)
	}
}
