package handlers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/console"
	"showfloor/internal/id"
)

// Lists of tenants go on from a cursor; those of admins have numbered pages.

// defaultPage is a list's length when the caller doesn't choose.
const defaultPage = 50

// pageSize is how many entries the caller wants. One more is asked of the
// database, to know whether another page follows.
func pageSize(limit *int) int {
	if limit == nil {
		return defaultPage
	}
	return *limit
}

// after is where a list goes on: the id of the page before's last entry. What
// can't be such an id is refused, since it would silently end or repeat the list.
func after(cursor *string, kind id.Prefix) (*string, error) {
	if cursor != nil && !kind.Matches(*cursor) {
		return nil, badInput("cursor", "is not from a Link header of this list")
	}
	return cursor, nil
}

// page cuts off the row that only tells of a next page, and links to that page.
func page[R any](ctx context.Context, s *Server, rows []R, size int, idOf func(R) string) (_ []R, link *string) {
	if len(rows) <= size {
		return rows, nil
	}
	rows = rows[:size]
	return rows, s.nextPage(ctx, idOf(rows[size-1]))
}

// nextPage links to the page behind a row: the request's own address with
// another cursor.
func (s *Server) nextPage(ctx context.Context, last string) *string {
	next := targetFrom(ctx)
	query := next.Query()
	query.Set("cursor", last)
	return new(fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.publicURL, next.EscapedPath(), query.Encode()))
}

// Sizes of admin lists' pages.
const (
	defaultAdminPage = 20
	maxAdminPage     = 100
)

// given takes an empty query parameter for an absent one.
func given(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	return text
}

// pageOf reads which page of an admin list is wanted; numbers that are too low or
// too high are moved to the nearest that will do.
func pageOf(page, size *string) (console.Page, error) {
	p := console.Page{Number: 1, Size: defaultAdminPage}
	const most = 1 << 31
	if err := readNumber("page", page, most, &p.Number); err != nil {
		return p, err
	}
	return p, readNumber("pageSize", size, maxAdminPage, &p.Size)
}

// readNumber reads a whole number into n, brought between 1 and most; absent, n
// stays as it is.
func readNumber(field string, text *string, most int, n *int) error {
	if given(text) == nil {
		return nil
	}
	read, err := strconv.Atoi(*text)
	if err != nil {
		return badInput(field, "must be a whole number")
	}
	*n = min(max(read, 1), most)
	return nil
}

// readMoment reads a timestamp, or a date in UTC: its first moment, or with end
// that of the next day.
func readMoment(field string, text *string, end bool) (*time.Time, error) {
	if given(text) == nil {
		return nil, nil //nolint:nilnil // no filter is not a fault
	}
	// A + that nobody encoded has become a space.
	if at, err := time.Parse(time.RFC3339, strings.ReplaceAll(*text, " ", "+")); err == nil {
		return &at, nil
	}
	day, err := time.Parse(time.DateOnly, *text)
	if err != nil {
		return nil, badInput(field, "must be an RFC 3339 timestamp or a date, such as 2026-01-31T00:00:00Z or 2026-01-31")
	}
	if end {
		day = day.AddDate(0, 0, 1)
	}
	return &day, nil
}
