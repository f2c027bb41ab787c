package handlers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/console"
)

// Lists for tenants continue from a cursor; those for admins have numbered pages.

// defaultPage is the number of entries in a page if the caller doesn't choose one.
const defaultPage = 50

// pageSize returns how many entries the caller wants. The query asks for one
// more, to know whether another page follows.
func pageSize(limit *int) int {
	if limit == nil {
		return defaultPage
	}
	return *limit
}

// after returns the cursor of a list: the id of the last entry on the page
// before. It refuses any text that can't be such an id, since the list would
// silently end or repeat.
func after(cursor *string, kind id.Prefix) (*string, error) {
	if cursor != nil && !kind.Matches(*cursor) {
		return nil, problem.BadField("cursor", "is not from a Link header of this list")
	}
	return cursor, nil
}

// page removes the extra row, which only shows that another page follows, and
// returns a link to that page.
func page[R any](ctx context.Context, s *Server, rows []R, size int, idOf func(R) string) (_ []R, link *string) {
	if len(rows) <= size {
		return rows, nil
	}
	rows = rows[:size]
	return rows, s.nextPage(ctx, idOf(rows[size-1]))
}

// nextPage returns a link to the page behind a row: the request's own address
// with another cursor.
func (s *Server) nextPage(ctx context.Context, last string) *string {
	next := request.URL(ctx)
	query := next.Query()
	query.Set("cursor", last)
	return new(fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.publicURL, next.EscapedPath(), query.Encode()))
}

// Page sizes of admin lists.
const (
	defaultAdminPage = 20
	maxAdminPage     = 100
)

// given treats an empty query parameter as an absent one.
func given(text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	return text
}

// pageOf reads the page number and size of an admin list. Numbers outside of the
// range are moved to its nearest end.
func pageOf(page, size *string) (console.Page, error) {
	p := console.Page{Number: 1, Size: defaultAdminPage}
	const most = 1 << 31
	if err := readNumber("page", page, most, &p.Number); err != nil {
		return p, err
	}
	return p, readNumber("pageSize", size, maxAdminPage, &p.Size)
}

// before returns the number of entries before the page.
func before(p console.Page) int64 { return int64(p.Number-1) * int64(p.Size) }

// readNumber reads a whole number into n and moves it into the range from 1 to
// most. n doesn't change if the parameter is absent.
func readNumber(field string, text *string, most int, n *int) error {
	if given(text) == nil {
		return nil
	}
	read, err := strconv.Atoi(*text)
	if err != nil {
		return problem.BadField(field, "must be a whole number")
	}
	*n = min(max(read, 1), most)
	return nil
}

// readMoment reads a timestamp, or a date in UTC. A date means its first moment
// or, if end is set, the first moment of the next day.
func readMoment(field string, text *string, end bool) (*time.Time, error) {
	if given(text) == nil {
		return nil, nil //nolint:nilnil // no filter is not a fault
	}
	// An unencoded + arrives as a space.
	if at, err := time.Parse(time.RFC3339, strings.ReplaceAll(*text, " ", "+")); err == nil {
		return &at, nil
	}
	day, err := time.Parse(time.DateOnly, *text)
	if err != nil {
		return nil, problem.BadField(field, "must be an RFC 3339 timestamp or a date, such as 2026-01-31T00:00:00Z or 2026-01-31")
	}
	if end {
		day = day.AddDate(0, 0, 1)
	}
	return &day, nil
}

// oneOf reads a filter whose value must be one of a list.
func oneOf(field string, text *string, values []string) (*string, error) {
	if given(text) == nil {
		return nil, nil //nolint:nilnil // no filter is not a fault
	}
	if !slices.Contains(values, *text) {
		return nil, problem.BadField(field, "must be one of %s", strings.Join(values, ", "))
	}
	return text, nil
}
