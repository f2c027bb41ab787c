package console

import (
	"slices"
	"strings"

	"showfloor/internal/base/problem"
)

// Page is a part of an admin list.
type Page struct {
	// Number counts from 1, Size from 1 to 100.
	Number, Size int
}

// offset is the number of entries before the page.
func (p Page) offset() int64 { return int64(p.Number-1) * int64(p.Size) }

// window is a page as a query finds it: rows after skip others, from the nearer end of the list.
type window struct {
	skip   int64
	rows   int32
	oldest bool // from the oldest entry on; else from the newest
}

// window returns the window of the page in a list of total entries, newest first. It has no rows if the list is shorter.
func (p Page) window(total int64) window {
	before := p.offset()
	rows := max(min(int64(p.Size), total-before), 0)
	if after := total - before - rows; after < before {
		return window{max(after, 0), int32(rows), true}
	}
	return window{before, int32(rows), false}
}

// within refuses a filter that isn't one of the values. nil means no filter.
func within(field string, value *string, allowed ...string) error {
	if value != nil && !slices.Contains(allowed, *value) {
		return problem.BadField(field, "must be one of %s", strings.Join(allowed, ", "))
	}
	return nil
}

// containing returns the pattern for ILIKE that finds a text anywhere. nil
// means no filter.
func containing(text *string) *string {
	if text == nil {
		return nil
	}
	return new("%" + escape(*text) + "%")
}

// escape escapes the special characters of LIKE.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}
