package decoder

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTail(t *testing.T) {
	t.Parallel()
	var m Tail
	for _, size := range []int{10, maxMessages, 3 * maxMessages, 5} {
		n, err := m.Write(bytes.Repeat([]byte{'a' + byte(size%7)}, size))
		require.NoError(t, err)
		require.Equal(t, size, n)
		require.LessOrEqual(t, len(m.data), maxMessages)
	}
	require.True(t, strings.HasSuffix(m.String(), strings.Repeat(string(rune('a'+5)), 5)))
}
