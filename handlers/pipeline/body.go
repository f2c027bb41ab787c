package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// maxBody is the largest request body, in bytes, of operations without an x-max-bytes.
const maxBody = 1 << 20

// Limits of every JSON body, even if its schema allows more. They are far above any
// useful body, and checking them costs little.
const (
	maxDepth  = 64
	maxValues = 91_000 // the rows of importCdnLogs have up to 90,003
	// maxDigits is the largest number of characters in a number.
	maxDigits = 64
	// maxExponent is the largest decimal exponent of an IEEE 754 double.
	maxExponent = 308
	// manyValues is the number of values from which on the lengths of lists are
	// checked before the validator looks at each value, because each of the
	// values may be a fault.
	manyValues = 100
)

// maxBodyOf returns the largest body of an operation, in bytes: the x-max-bytes
// of its requestBody in the API document.
func maxBodyOf(op *openapi3.Operation) (int64, error) {
	if op.RequestBody == nil {
		return maxBody, nil
	}
	stated, ok := op.RequestBody.Value.Extensions["x-max-bytes"]
	if !ok {
		return maxBody, nil
	}
	n, ok := stated.(float64)
	if !ok || n < 1 {
		return 0, fmt.Errorf("%s: x-max-bytes can't be %v", op.OperationID, stated)
	}
	return int64(n), nil
}

// limitBody limits the bytes that are read of a request's body.
func (c *contract) limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		limit := int64(maxBody)
		if op := c.find(e); op != nil {
			limit = op.maxBody
		}
		r := e.Request()
		if r.ContentLength > limit {
			return &http.MaxBytesError{Limit: limit}
		}
		r.Body = http.MaxBytesReader(e.Response(), r.Body, limit)
		return next(e)
	}
}

// tooLarge returns the limit, in bytes, that the body exceeded.
func tooLarge(err error) (limit int64, ok bool) {
	var exceeded *http.MaxBytesError
	if !errors.As(err, &exceeded) {
		return 0, false
	}
	return exceeded.Limit, true
}

// inBytes formats a size in the largest unit that divides it exactly.
func inBytes(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// readBody reads the whole body and puts it back. Afterwards ContentLength is exact.
func readBody(r *http.Request) ([]byte, error) {
	raw, err := ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return raw, nil
}

// ReadAll reads a body to its end. Its errors name the fault for the caller.
func ReadAll(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(body)
	switch _, large := tooLarge(err); {
	case err == nil:
		return raw, nil
	case large:
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, echo.NewHTTPError(http.StatusRequestTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, badInput("body", "ended too early")
	default:
		return nil, badInput("body", "could not be read")
	}
}

// readJSON refuses a body that isn't exactly one JSON text in UTF-8 within the
// limits above. The validator alone would read only the first value and replace
// bytes that aren't UTF-8, and some small bodies would keep it busy for very long.
func readJSON(r *http.Request, op *operation) error {
	raw, err := readBody(r)
	if err != nil {
		return err
	}
	if len(raw) == 0 {
		return nil // the validator decides whether an empty body is allowed
	}
	if !utf8.Valid(raw) {
		return badInput("body", "must be UTF-8")
	}
	var checked json.RawMessage
	if err := json.Unmarshal(raw, &checked); err != nil {
		return badInput("body", "must be JSON: "+err.Error())
	}
	values, err := checkForm(raw)
	if err != nil || values < manyValues {
		return err
	}
	var body any
	if err := json.Unmarshal(raw, &body); err != nil {
		return badInput("body", "must be JSON: "+err.Error())
	}
	return checkLengths(op.jsonBody(), body, nil)
}

// checkForm scans a well-formed JSON text once, checks its depth and its
// numbers, and counts its values. The count is approximate: one for each opening
// bracket and each comma.
func checkForm(raw []byte) (values int, err error) {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = endOfText(raw, i)
		case c == '{' || c == '[':
			values++
			if depth++; depth > maxDepth {
				return values, badInput("body", fmt.Sprintf("is nested deeper than %d levels", maxDepth))
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			if values++; values > maxValues {
				return values, badInput("body", fmt.Sprintf("holds more than %d values", maxValues))
			}
		case c == '-' || c >= '0' && c <= '9':
			end := endOfNumber(raw, i)
			if !goodNumber(string(raw[i:end])) {
				return values, badInput("body", fmt.Sprintf("holds a number of more than %d characters, or beyond 1e±%d", maxDigits, maxExponent))
			}
			i = end - 1
		}
	}
	return values, nil
}

// endOfText returns the index of the closing quote of the string that begins at i.
func endOfText(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// endOfNumber returns the index behind the number that begins at i.
func endOfNumber(raw []byte, i int) int {
	for i < len(raw) && strings.IndexByte("+-.eE0123456789", raw[i]) >= 0 {
		i++
	}
	return i
}

func goodNumber(text string) bool {
	if len(text) > maxDigits {
		return false
	}
	at := strings.IndexAny(text, "eE")
	if at < 0 {
		return true
	}
	exponent, err := strconv.Atoi(text[at+1:])
	return err == nil && exponent >= -maxExponent && exponent <= maxExponent
}

// checkLengths refuses lists and maps that are longer than the document allows. The
// validator would refuse them too, but would also report each of their entries.
func checkLengths(schema *openapi3.Schema, value any, path []string) error {
	if schema == nil {
		return nil
	}
	switch v := value.(type) {
	case []any:
		if schema.MaxItems != nil && uint64(len(v)) > *schema.MaxItems {
			return badInput(strings.Join(path, "."), fmt.Sprintf("maximum number of items is %d", *schema.MaxItems))
		}
		if schema.Items == nil {
			return nil
		}
		for i, e := range v {
			if err := checkLengths(schema.Items.Value, e, append(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case map[string]any:
		if schema.MaxProps != nil && uint64(len(v)) > *schema.MaxProps {
			return badInput(strings.Join(path, "."), fmt.Sprintf("maximum number of entries is %d", *schema.MaxProps))
		}
		for name, e := range v {
			if err := checkLengths(propertyOf(schema, name), e, append(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// propertyOf returns the schema of an object's property, or nil if there is
// none. It also searches the parts of composed schemas (allOf, oneOf, anyOf).
func propertyOf(schema *openapi3.Schema, name string) *openapi3.Schema {
	if p := schema.Properties[name]; p != nil {
		return p.Value
	}
	for _, parts := range []openapi3.SchemaRefs{schema.AllOf, schema.OneOf, schema.AnyOf} {
		for _, part := range parts {
			if p := propertyOf(part.Value, name); p != nil {
				return p
			}
		}
	}
	if schema.AdditionalProperties.Schema != nil {
		return schema.AdditionalProperties.Schema.Value
	}
	return nil
}
