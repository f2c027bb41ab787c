package pipeline

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/tenancy"
)

// withOrigin gives the request an id and stores its origin. It ignores an id
// from the caller, because ids end up in logs.
func withOrigin(trusted netaddr.Proxies) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			requestID := id.New(id.Request)
			c.Response().Header().Set(echo.HeaderXRequestID, requestID)
			ctx := request.WithOrigin(c.Request().Context(), tenancy.Origin{
				IP: trusted.ClientIP(c.Request()), RequestID: requestID, UserAgent: c.Request().UserAgent(),
			})
			ctx = request.WithAccept(ctx, strings.Join(c.Request().Header.Values("Accept"), ","))
			c.SetRequest(c.Request().WithContext(request.WithURL(ctx, c.Request().URL)))
			return next(c)
		}
	}
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
					slog.Duration("took", took), slog.String("requestId", request.ID(c.Request().Context())),
					slog.String("tenantId", request.Caller(c.Request().Context()).TenantID),
					slog.String("adminId", request.Admin(c.Request().Context()).AdminID))
			}
			return nil
		}
	}
}

// countCalls counts the calls of operations below /v1/me by their tenant, after the answer.
func (c *contract) countCalls(calls Calls) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		if calls == nil {
			return next
		}
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || !op.counted {
				return next(e)
			}
			start := time.Now()
			err := next(e)
			caller := request.Caller(e.Request().Context())
			if caller.TenantID != "" && caller.Participant == nil {
				calls.Count(caller.TenantID, op.route.Operation.OperationID, e.Response().Status, time.Since(start))
			}
			return err
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
