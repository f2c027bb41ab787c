package handlers

import (
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/internal/timestamp"
)

// orNull is a value that the document calls nullable.
func orNull[T any](v *T) nullable.Nullable[T] {
	if v == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*v)
}

// orNil is what the caller gave for a nullable field: nil for null and for nothing.
func orNil[T any](v nullable.Nullable[T]) *T {
	given, err := v.Get()
	if err != nil {
		return nil
	}
	return &given
}

// smallOrNil is orNil for numbers that the document keeps below 2³¹.
func smallOrNil(v nullable.Nullable[int]) *int32 {
	given, err := v.Get()
	if err != nil {
		return nil
	}
	return new(int32(given))
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

// orEmpty takes a text that was left out for the empty one.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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

// small is a number that the document keeps below 2³¹, and the caller may leave out.
func small(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}
