// Package problem is the only error type whose text callers see. Every other error is
// internal: it is logged, and the caller gets "internal error".
package problem

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the class of a problem; handlers map each to one HTTP status.
type Kind string

// The kinds, each with its HTTP status.
const (
	Invalid         Kind = "invalid"         // 400
	Unauthenticated Kind = "unauthenticated" // 401
	Forbidden       Kind = "forbidden"       // 403
	NotFound        Kind = "not_found"       // 404
	Conflict        Kind = "conflict"        // 409
	// PreconditionFailed is for an If-Match that isn't the object's state.
	PreconditionFailed Kind = "precondition_failed" // 412
	Unprocessable      Kind = "unprocessable"       // 422
	RateLimited        Kind = "rate_limited"        // 429
	Unavailable        Kind = "unavailable"         // 503
	NotImplemented     Kind = "not_implemented"     // 501
)

// Field is the fault of one input field.
type Field struct{ Field, Message string }

// Limit is one limit of the caller's plan.
type Limit struct {
	// Name is the name of the field in the API's PlanLimits. A limit that is the same on every
	// plan has its own name.
	Name  string
	Value int64
	// Plan is the tenant's tier; UpgradeTo is the smallest tier that allows the request,
	// empty if there is none.
	Plan, UpgradeTo string
}

// Error is an error that the caller can understand and handle.
type Error struct {
	Kind Kind
	// Code is stable and snake_case, for programs.
	Code string
	// Message is a sentence for people; it contains no internal information.
	Message string
	// Fields lists faulty input, for Invalid.
	Fields []Field
	// RetryAfter is the time until the caller may try again, for RateLimited and Unavailable; 0 if it isn't known.
	RetryAfter time.Duration
	// ETag is the validator of the present state, for PreconditionFailed.
	ETag string
	// Limit is the plan's limit that caused the refusal; nil for none.
	Limit *Limit
}

func (e *Error) Error() string { return e.Message }

// New makes a problem with a code of its own.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing is the error for an id that doesn't exist for this caller: it belongs to
// another tenant, or doesn't exist at all. Its message is "<what> not found".
func Missing(what string) *Error { return New(NotFound, "not_found", "%s not found", what) }

// BadField is an input fault in one field.
func BadField(field, format string, args ...any) *Error {
	return BadFields([]Field{{Field: field, Message: fmt.Sprintf(format, args...)}})
}

// BadFields is a list of input faults.
func BadFields(faults []Field) *Error {
	e := New(Invalid, "invalid_input", "the request is not valid")
	e.Fields = faults
	return e
}

// Limited refuses a request that exceeds a rate limit; it may be repeated after a while.
func Limited(after time.Duration, format string, args ...any) *Error {
	e := New(RateLimited, "rate_limited", format, args...)
	e.RetryAfter = after
	return e
}

// Conflicting is the error for a state that forbids the change.
func Conflicting(format string, args ...any) *Error {
	return New(Conflict, "conflict", format, args...)
}

// As finds the problem in an error chain.
func As(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// Is reports whether err is a problem with this code.
func Is(err error, code string) bool {
	p, ok := As(err)
	return ok && p.Code == code
}
