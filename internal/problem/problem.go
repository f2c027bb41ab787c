// Package problem is the one error type that a caller may see. Every other
// error is internal: it is logged, and the caller reads "internal error".
package problem

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the class of a problem; handlers map each to one HTTP status.
type Kind string

// The kinds, with the status that each becomes.
const (
	Invalid         Kind = "invalid"         // 400
	Unauthenticated Kind = "unauthenticated" // 401
	Forbidden       Kind = "forbidden"       // 403
	NotFound        Kind = "not_found"       // 404
	Conflict        Kind = "conflict"        // 409
	Unprocessable   Kind = "unprocessable"   // 422
	RateLimited     Kind = "rate_limited"    // 429
	Unavailable     Kind = "unavailable"     // 503
	NotImplemented  Kind = "not_implemented" // 501
)

// Field says what is wrong with one input field.
type Field struct{ Field, Message string }

// Limit is one limit of the caller's plan.
type Limit struct {
	// Name is that of the field in the API's PlanLimits, or a name of its own for a limit that is
	// the same on every plan.
	Name  string
	Value int64
	// Plan is the tenant's tier; UpgradeTo is the smallest tier that allows what was
	// asked for, empty when none does.
	Plan, UpgradeTo string
}

// Error is a problem that the caller can understand and act on.
type Error struct {
	Kind Kind
	// Code is stable and snake_case, for programs.
	Code string
	// Message is a sentence for people; it holds nothing internal.
	Message string
	// Fields lists faulty input, for Invalid.
	Fields []Field
	// RetryAfter is when to come back, for RateLimited.
	RetryAfter time.Duration
	// Limit is the plan's limit that refused the request; nil for none.
	Limit *Limit
}

func (e *Error) Error() string { return e.Message }

// New makes a problem with a code of its own.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing is the answer to any id that isn't there for this caller, be it
// another tenant's or no one's: "<what> not found".
func Missing(what string) *Error { return New(NotFound, "not_found", "%s not found", what) }

// BadField is an input fault in one field.
func BadField(field, format string, args ...any) *Error {
	e := New(Invalid, "invalid_input", "the request is not valid")
	e.Fields = []Field{{Field: field, Message: fmt.Sprintf(format, args...)}}
	return e
}

// Limited refuses what comes too often; it may be tried again after a while.
func Limited(after time.Duration, format string, args ...any) *Error {
	e := New(RateLimited, "rate_limited", format, args...)
	e.RetryAfter = after
	return e
}

// Conflicting is a state that forbids the change.
func Conflicting(format string, args ...any) *Error {
	return New(Conflict, "conflict", format, args...)
}

// As finds the problem in an error chain.
func As(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// Is tells whether err is a problem with this code.
func Is(err error, code string) bool {
	p, ok := As(err)
	return ok && p.Code == code
}
