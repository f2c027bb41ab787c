// Package ogen pins the generator of the same name, and the libraries that its output needs. internal/document/generators
// checks with it that the API document suits strict generators.
package ogen

import (
	_ "github.com/go-faster/errors" // needed by generated code, as all of these
	_ "github.com/go-faster/jx"
	_ "github.com/google/uuid"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/http"
	_ "github.com/ogen-go/ogen/json"
	_ "github.com/ogen-go/ogen/middleware"
	_ "github.com/ogen-go/ogen/ogenerrors"
	_ "github.com/ogen-go/ogen/ogenregex"
	_ "github.com/ogen-go/ogen/otelogen"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
)
