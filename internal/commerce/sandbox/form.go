package sandbox

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// form reads form-encoded parameters with nested keys, such as
// line_items[0][price]. It keeps the first fault. A parameter that was never
// read is a fault too.
type form struct {
	values url.Values
	read   map[string]bool
	prefix string
	fault  *error
}

func newForm(values url.Values) form {
	var fault error
	return form{values: values, read: map[string]bool{}, fault: &fault}
}

// at returns the part of the form below a name.
func (f form) at(name string) form {
	f.prefix = f.key(name)
	return f
}

func (f form) key(name string) string {
	if f.prefix == "" {
		return name
	}
	return f.prefix + "[" + name + "]"
}

// has reports whether there is a parameter at or below a name.
func (f form) has(name string) bool {
	key := f.key(name)
	for k := range f.values {
		if k == key || strings.HasPrefix(k, key+"[") {
			return true
		}
	}
	return false
}

// list returns the parts of the form below a name's indices.
func (f form) list(name string) []form {
	var items []form
	for i := 0; f.at(name).has(strconv.Itoa(i)); i++ {
		items = append(items, f.at(name).at(strconv.Itoa(i)))
	}
	return items
}

// texts returns a list of strings.
func (f form) texts(name string) []string {
	list := []string{}
	if key := f.key(name) + "[]"; f.values.Has(key) {
		f.read[key] = true
		return append(list, f.values[key]...)
	}
	for i := 0; f.at(name).has(strconv.Itoa(i)); i++ {
		list = append(list, f.at(name).text(strconv.Itoa(i)))
	}
	return list
}

func (f form) fail(err error) {
	if *f.fault == nil {
		*f.fault = err
	}
}

// text returns a string, or "" if it is absent.
func (f form) text(name string) string {
	key := f.key(name)
	f.read[key] = true
	v := f.values.Get(key)
	if utf8.RuneCountInString(v) > maxText || !utf8.ValidString(v) {
		f.fail(invalid("", key, "Invalid string: must be UTF-8 of at most %d characters", maxText))
	}
	return v
}

const maxText = 5000

// must returns a string; its absence is a fault.
func (f form) must(name string) string {
	v := f.text(name)
	if v == "" {
		if f.values.Has(f.key(name)) {
			f.fail(invalid("parameter_invalid_empty", f.key(name),
				"You passed an empty string for '%s'. We assume empty values are an attempt to unset a parameter; however '%[1]s' cannot be unset.",
				f.key(name)))
		}
		f.fail(missing(f.key(name)))
	}
	return v
}

// whole returns an integer, or otherwise if it is absent.
func (f form) whole(name string, otherwise int64) int64 {
	v := f.text(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		f.fail(invalid("parameter_invalid_integer", f.key(name), "Invalid integer: %s", v))
	}
	return n
}

// amount returns an integer that must be at least least, or otherwise if it is absent.
func (f form) amount(name string, least, otherwise int64) int64 {
	n := f.whole(name, otherwise)
	if f.values.Has(f.key(name)) && n < least {
		f.fail(invalid("parameter_invalid_integer", f.key(name), "This value must be greater than or equal to %d.", least))
	}
	return n
}

// yes is the value of a boolean parameter.
const yes = "true"

func (f form) flag(name string) bool {
	switch v := f.text(name); v {
	case "", "false":
		return false
	case yes:
		return true
	default:
		f.fail(invalid("", f.key(name), "Invalid boolean: %s", v))
		return false
	}
}

// oneOf returns one of the values, or the first one if it is absent.
func (f form) oneOf(name string, values ...string) string {
	v := f.text(name)
	if v == "" {
		return values[0]
	}
	if !slices.Contains(values, v) {
		f.fail(invalid("", f.key(name), "Invalid %s: must be one of %s", f.key(name), strings.Join(values, ", ")))
	}
	return v
}

// address returns a URL with a host.
func (f form) address(name string) string {
	v := f.text(name)
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		f.fail(invalid("url_invalid", f.key(name), "Not a valid URL"))
	}
	return v
}

// The processor's limits of metadata.
const (
	maxPairs = 50
	maxKey   = 40
	maxValue = 500
)

// metadata returns a map of strings.
func (f form) metadata() map[string]string {
	prefix := f.key("metadata")
	pairs := map[string]string{}
	for k := range f.values {
		key, below := strings.CutPrefix(k, prefix+"[")
		key, ends := strings.CutSuffix(key, "]")
		if !below || !ends {
			continue
		}
		f.read[k] = true
		pairs[key] = f.values.Get(k)
		if utf8.RuneCountInString(key) > maxKey || utf8.RuneCountInString(pairs[key]) > maxValue {
			f.fail(invalid("", k, "Metadata keys can have up to %d characters, values up to %d.", maxKey, maxValue))
		}
	}
	if len(pairs) > maxPairs {
		f.fail(invalid("", prefix, "Metadata can have up to %d keys.", maxPairs))
	}
	return pairs
}

// ignore accepts parameters that have no effect here.
func (f form) ignore(names ...string) {
	for k := range f.values {
		for _, name := range names {
			if key := f.key(name); k == key || strings.HasPrefix(k, key+"[") {
				f.read[k] = true
			}
		}
	}
}

// done returns the first fault. Nothing may be read from the form after it.
func (f form) done() error {
	if *f.fault != nil {
		return *f.fault
	}
	var unknown []string
	for k := range f.values {
		if !f.read[k] {
			unknown = append(unknown, k)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return invalid("parameter_unknown", unknown[0], "Received unknown parameter: %s", unknown[0])
	}
	return nil
}

// refusal is an answer that isn't a success.
type refusal struct {
	status                     int
	kind, code, param, message string
	// kept: the answer is stored under the request's idempotency key. A
	// malformed request isn't stored, so that it can be corrected and sent with
	// the same key.
	kept bool
	// commits: the changes before the refusal stay, such as the failed attempt to charge an invoice.
	commits     bool
	declineCode string
}

func (r *refusal) Error() string { return r.message }

const invalidRequest = "invalid_request_error"

// invalid refuses a malformed request.
func invalid(code, param, format string, args ...any) *refusal {
	return &refusal{status: 400, kind: invalidRequest, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

func missing(param string) *refusal {
	return invalid("parameter_missing", param, "Missing required param: %s.", param)
}

// refuse refuses a request that the current state doesn't allow.
func refuse(code, param, format string, args ...any) *refusal {
	r := invalid(code, param, format, args...)
	r.kept = true
	return r
}

// none is the answer to an unknown id.
func none(what, id, param string) *refusal {
	r := invalid("resource_missing", param, "No such %s: '%s'", what, id)
	if param == "" || param == "id" {
		r.status = 404
	}
	return r
}
