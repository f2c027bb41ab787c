package pipeline

import (
	"errors"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// checkQuery refuses a query of which net/url would silently ignore a part.
func checkQuery(e echo.Context, op *operation) error {
	query, err := url.ParseQuery(e.Request().URL.RawQuery)
	if err != nil {
		return badInput("query", "must be percent-encoded name=value pairs")
	}
	for _, p := range op.parameters {
		values := query[p.Value.Name]
		switch {
		case p.Value.In != openapi3.ParameterInQuery:
		case len(values) > 1 && !p.Value.Schema.Value.Type.Is(openapi3.TypeArray):
			return badInput(p.Value.Name, "is given more than once")
		case slices.ContainsFunc(values, func(v string) bool { return !postgres.Storable(v) }):
			return badInput(p.Value.Name, postgres.UnstorableFault)
		}
	}
	return nil
}

// checkBody refuses text that PostgreSQL can't store, in the fields that the
// document names. Other fields are ignored anyway.
func checkBody(r *http.Request, op *operation) error {
	read, ok := r.Body.(interface{ ValidatedValue() any })
	if !ok {
		return nil
	}
	media := op.route.Operation.RequestBody.Value.Content.Get(echo.MIMEApplicationJSON)
	if list := unstorableFields(media.Schema.Value, read.ValidatedValue(), nil); len(list) > 0 {
		return problem.BadFields(list)
	}
	return nil
}

func unstorableFields(schema *openapi3.Schema, value any, path []string) (list []problem.Field) {
	switch v := value.(type) {
	case string:
		if !postgres.Storable(v) {
			list = append(list, problem.Field{Field: strings.Join(path, "."), Message: postgres.UnstorableFault})
		}
	case []any:
		if schema.Items == nil {
			return nil
		}
		for i, e := range v {
			list = append(list, unstorableFields(schema.Items.Value, e, append(slices.Clip(path), strconv.Itoa(i)))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
			list = append(list, unstorableFields(schema.Properties[name].Value, v[name], append(slices.Clip(path), name))...)
		}
	}
	return list
}

// longestID is the document's maximum of ids and tokens in paths, in characters.
const longestID = 1024

// replaceUnknown replaces path parameters that PostgreSQL can't store as text, and ids that are longer than the
// document's maximum, so that they are looked up and not found, like any other unknown id. Parameters with a smaller
// maximum are refused instead. echo doesn't unescape parameters if the path has an unusual escape.
func replaceUnknown(c echo.Context, op *operation) {
	values, names := c.ParamValues(), c.ParamNames()
	for i, v := range values {
		if c.Request().URL.RawPath != "" {
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
		}
		if !postgres.Storable(v) || len(v) > longestID && op.isLong(names[i], v) {
			values[i] = "-"
		}
	}
	c.SetParamValues(values...)
}

// isLong reports whether a path parameter is longer than its maximum, if that is longestID or more.
func (o *operation) isLong(name, value string) bool {
	for _, p := range o.parameters {
		if p.Value.In == openapi3.ParameterInPath && p.Value.Name == name {
			longest := p.Value.Schema.Value.MaxLength
			return longest != nil && *longest >= longestID && uint64(utf8.RuneCountInString(value)) > *longest
		}
	}
	return false
}

func badInput(field, message string) error { return problem.BadField(field, "%s", message) }

// checkEmail accepts exactly one bare address of visible characters. The usual
// pattern also accepts spaces, and characters that hide others.
func checkEmail(text string) error {
	const maxBytes = 254 // the longest address in SMTP
	parsed, err := mail.ParseAddress(text)
	hidden := strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	if err != nil || parsed.Address != text || hidden || len(text) > maxBytes || strings.Contains(text, "@[") {
		return errors.New("must be an e-mail address, such as ada@acme.example")
	}
	return nil
}

// checkURI accepts absolute addresses that others, such as the payment processor,
// accept too. A pattern alone accepts addresses that they refuse.
func checkURI(text string) error {
	u, err := url.Parse(text)
	hidden := strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	if err != nil || !u.IsAbs() || web && u.Hostname() == "" || hidden {
		return errors.New("must be a whole address without spaces, such as https://acme.example/shop")
	}
	return nil
}

// timeForm is the form of RFC 3339. The standard library accepts more than that.
var timeForm = regexp.MustCompile(openapi3.FormatOfStringDateTime)

// CheckTime accepts times that exist and whose year in UTC has four digits. The
// form alone accepts 30 February, and times whose year is 10000 in UTC.
func CheckTime(text string) error {
	const lastYear = 9999
	at, err := time.Parse(time.RFC3339, text)
	if year := at.UTC().Year(); err != nil || !timeForm.MatchString(text) || year < 0 || year > lastYear {
		return errors.New("must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z")
	}
	return nil
}
