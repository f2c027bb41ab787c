package handlers

import (
	"fmt"
	"net/url"
	"strconv"
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

// page converts the rows of one page and links to the next one when the
// database had one row more than the page holds.
func page[R, T any](s *Server, path string, rows []R, size int, idOf func(R) string, convert func(R) T) (list []T, link *string) {
	if len(rows) > size {
		rows = rows[:size]
		query := url.Values{"limit": {strconv.Itoa(size)}, "cursor": {idOf(rows[size-1])}}
		link = new(fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.publicURL, path, query.Encode()))
	}
	list = make([]T, len(rows))
	for i, r := range rows {
		list[i] = convert(r)
	}
	return list, link
}
