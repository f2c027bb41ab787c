package pipeline

import (
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/internal/base/problem"
)

// markUnbuilt marks the operations that are only in the document. Go names
// differ from operationIds only in upper and lower case.
func (c *contract) markUnbuilt(names []string) {
	unbuilt := map[string]bool{}
	for _, name := range names {
		unbuilt[strings.ToLower(name)] = true
	}
	for _, op := range c.operations {
		op.unbuilt = unbuilt[strings.ToLower(op.route.Operation.OperationID)]
	}
}

// refuseUnbuilt answers 501 after the caller is authenticated, for any content of
// the request.
func (c *contract) refuseUnbuilt(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		if op := c.find(e); op != nil && op.unbuilt {
			return problem.New(problem.NotImplemented, "not_implemented", "this operation is not built yet")
		}
		return next(e)
	}
}
