package pipeline

import (
	"context"
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/problem"
)

// AdminNetworks decides from which addresses admins may call.
type AdminNetworks interface {
	AllowsAdmin(ctx context.Context, ip string) (bool, error)
}

// adminPaths begins the paths of all admin operations, logins included.
const adminPaths = "/v1/admin/"

// limitImpersonation refuses an impersonating admin's token from addresses outside of the allowed networks.
func limitImpersonation(allowed AdminNetworks) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			ctx := e.Request().Context()
			if allowed == nil || request.Caller(ctx).Impersonation == nil {
				return next(e)
			}
			if err := checkNetwork(ctx, allowed, request.Origin(ctx).IP); err != nil {
				return err
			}
			return next(e)
		}
	}
}

// checkNetwork returns a problem if the address is outside of the admins' networks.
func checkNetwork(ctx context.Context, allowed AdminNetworks, ip string) error {
	ok, err := allowed.AllowsAdmin(ctx, ip)
	if err != nil {
		return err
	}
	if !ok {
		return problem.New(problem.Forbidden, "address_not_allowed",
			"admins' requests are not allowed from %s; call from a network in the setting security.adminNetworks", ip)
	}
	return nil
}

// limitNetworks refuses admin operations from addresses outside of the allowed networks, before it reads a credential.
func limitNetworks(allowed AdminNetworks) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			if allowed == nil || !strings.HasPrefix(e.Path(), adminPaths) {
				return next(e)
			}
			ctx := e.Request().Context()
			if err := checkNetwork(ctx, allowed, request.Origin(ctx).IP); err != nil {
				return err
			}
			return next(e)
		}
	}
}
