package etag

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	type state struct{ A int }
	is, err := Of(state{1})
	require.NoError(t, err)
	other, err := Of(state{2})
	require.NoError(t, err)
	require.NotEqual(t, is, other)
	require.Regexp(t, `^"[0-9a-v]{24}"$`, is)
	for match, ok := range map[string]bool{
		"": true, " ": true, "*": true, is: true, other + ", " + is: true, other: false, "W/" + is: false, `"x"`: false,
	} {
		err := Check(&match, state{1})
		if ok {
			require.NoError(t, err, match)
			continue
		}
		p, known := problem.As(err)
		require.True(t, known, match)
		require.Equal(t, "precondition_failed", p.Code)
		require.Equal(t, is, p.ETag)
	}
	require.NoError(t, Check(nil, state{1}))
	require.Error(t, Check(&is, func() {}), "a state that isn't JSON")
}
