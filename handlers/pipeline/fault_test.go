package pipeline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearestFirst(t *testing.T) {
	t.Parallel()
	values := []any{"call.ended", "stream.ended", "restream.started", "stream.started", nil}
	require.Equal(t, []any{"stream.started", "stream.ended", "call.ended", "restream.started", nil}, nearestFirst("Stream.start", values))
	require.Equal(t, "call.ended", values[0], "the schema's own list is not changed")
}

func TestLikeness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		value any
		want  int
	}{
		{"", "", 0}, {"", "abc", 0}, {"abc", "abc", 3}, {"aa", "aaa", 2}, {"aaa", "aa", 2},
		{"steam.started", "stream.started", 13}, {"stream.start", "stream.started", 12}, {"stream.start", "call.ended", 0}, {"null", nil, 0},
	} {
		require.Equal(t, c.want, likeness(c.text, c.value), c)
	}
}
