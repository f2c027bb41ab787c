// Package timestamp holds the only form in which the API writes points in time.
package timestamp

import (
	"fmt"
	"time"
)

// Layout is RFC 3339 in UTC with exactly three decimals, so that timestamps sort
// correctly as strings.
const Layout = "2006-01-02T15:04:05.000Z"

// Time is a time.Time that reads any RFC 3339 form and writes Layout.
type Time struct{ time.Time } //nolint:recvcheck // UnmarshalJSON needs a pointer receiver, MarshalJSON must work on values

// From converts for a response.
func From(t time.Time) Time { return Time{t} }

// Format writes t in Layout.
func Format(t time.Time) string { return t.UTC().Format(Layout) }

// MarshalJSON writes the time in Layout.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(Layout)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, Layout)
	return append(b, '"'), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	if err := t.Time.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("not an RFC 3339 time: %w", err)
	}
	return nil
}

// Bind reads a query parameter, as the generated code asks of a type of its own.
func (t *Time) Bind(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("not an RFC 3339 time: %w", err)
	}
	t.Time = at
	return nil
}

// Optional is From for a time that may be missing.
func Optional(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}
