package sandbox

import "slices"

// table holds the objects of one kind, by id and from the oldest to the newest.
type table[T any] struct {
	rows map[string]T
	ids  []string
}

func newTable[T any]() table[T] { return table[T]{rows: map[string]T{}} }

func (t *table[T]) put(id string, row T) (undo func()) { return put(t.rows, id, row, &t.ids) }

// newest lists the rows that match, from the newest to the oldest.
func (t *table[T]) newest(match func(T) bool) []T {
	var list []T
	for _, id := range slices.Backward(t.ids) {
		if row := t.rows[id]; match(row) {
			list = append(list, row)
		}
	}
	return list
}

// oldest lists the rows that match, from the oldest to the newest.
func (t *table[T]) oldest(match func(T) bool) []T {
	list := t.newest(match)
	slices.Reverse(list)
	return list
}

func every[T any](T) bool { return true }
