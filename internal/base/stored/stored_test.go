package stored_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/stored"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	stored.Add(t.Context(), 1) // there is no counter
	require.Nil(t, stored.From(t.Context()))
	require.Zero(t, stored.From(t.Context()).Bytes())
	ctx, n := stored.Count(t.Context())
	stored.Add(ctx, 2)
	stored.From(ctx).Add(3)
	stored.Add(stored.Without(ctx), 4)
	require.EqualValues(t, 5, n.Bytes())
}
