package stored_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/stored"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	stored.Add(t.Context(), 1) // nobody counts
	ctx, n := stored.Count(t.Context())
	stored.Add(ctx, 2)
	stored.Add(ctx, 3)
	require.EqualValues(t, 5, n.Load())
}
