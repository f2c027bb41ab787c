package handlers

import (
	"context"
	"fmt"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/internal/id"
	"showfloor/internal/timestamp"
)

// orNull is a value that the document calls nullable.
func orNull[T any](v *T) nullable.Nullable[T] {
	if v == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*v)
}

func timeOrNull(t *time.Time) nullable.Nullable[timestamp.Time] {
	if t == nil {
		return nullable.NewNullNullable[timestamp.Time]()
	}
	return nullable.NewNullableWithValue(timestamp.From(*t))
}

func intOrNull(n *int32) nullable.Nullable[int] {
	if n == nil {
		return nullable.NewNullNullable[int]()
	}
	return nullable.NewNullableWithValue(int(*n))
}

// textOrNull takes the empty string for no value.
func textOrNull(s string) nullable.Nullable[string] {
	if s == "" {
		return nullable.NewNullNullable[string]()
	}
	return nullable.NewNullableWithValue(s)
}

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

// each converts a list; an empty one stays an empty list, not null.
func each[R, T any](rows []R, convert func(R) T) []T {
	list := make([]T, len(rows))
	for i, r := range rows {
		list[i] = convert(r)
	}
	return list
}

// instant is a point in time that the caller may leave out.
func instant(t *timestamp.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// seconds is a span of time in the document's unit.
func seconds(d time.Duration) int { return int(d / time.Second) }
