package handlers

import (
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/internal/base/timestamp"
)

// orNull converts a pointer to a nullable value; nil becomes null.
func orNull[T any](v *T) nullable.Nullable[T] {
	if v == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*v)
}

// orNil converts a nullable field to a pointer: nil for null and for an absent field.
func orNil[T any](v nullable.Nullable[T]) *T {
	given, err := v.Get()
	if err != nil {
		return nil
	}
	return &given
}

// listOrNil converts a nullable list: nil for null and for an absent field, and an empty list for an empty one.
func listOrNil[T any](v nullable.Nullable[[]T]) []T {
	given, err := v.Get()
	if err != nil {
		return nil
	}
	return append([]T{}, given...)
}

// listOrNull converts a list; nil becomes null.
func listOrNull[T any](list []T) nullable.Nullable[[]T] {
	if list == nil {
		return nullable.NewNullNullable[[]T]()
	}
	return nullable.NewNullableWithValue(list)
}

// replace applies a nullable field of a change: an absent one keeps the value, null removes it.
func replace[V, T any](value *V, field nullable.Nullable[T], convert func(T) V) {
	if !field.IsSpecified() {
		return
	}
	var none V
	*value = none
	if given, err := field.Get(); err == nil {
		*value = convert(given)
	}
}

// smallOrNil does the same as orNil for numbers that the document keeps below 2³¹.
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

// timeOrNil converts a time of a request that may be missing.
func timeOrNil(t *timestamp.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

func intOrNull(n *int32) nullable.Nullable[int] {
	if n == nil {
		return nullable.NewNullNullable[int]()
	}
	return nullable.NewNullableWithValue(int(*n))
}

// textOrNull converts an empty string to null.
func textOrNull(s string) nullable.Nullable[string] {
	if s == "" {
		return nullable.NewNullNullable[string]()
	}
	return nullable.NewNullableWithValue(s)
}

// orEmpty converts an absent text to the empty string.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// each converts a list. An empty list stays an empty list and doesn't become null.
func each[R, T any](rows []R, convert func(R) T) []T {
	list := make([]T, len(rows))
	for i, r := range rows {
		list[i] = convert(r)
	}
	return list
}

// instant converts an optional timestamp.
func instant(t *timestamp.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// seconds converts a duration to whole seconds, the document's unit.
func seconds(d time.Duration) int { return int(d / time.Second) }

// valueOr returns an optional value, or the standard if it is missing.
func valueOr[T any](v *T, standard T) T {
	if v == nil {
		return standard
	}
	return *v
}

// small converts an optional number that the document keeps below 2³¹.
func small(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(int32(*n))
}
