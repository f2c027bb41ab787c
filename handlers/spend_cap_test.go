package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestSpendCapsAreWithinTheirBounds: 400 for a cap that is negative, too large, missing or no whole number; the stored one stays.
func TestSpendCapsAreWithinTheirBounds(t *testing.T) {
	t.Parallel()
	const path = "/v1/me/billing/spend-cap"
	owner := apitest.New(t, apitest.Options{Pool: dbtest.New(t)}).Register(t)
	set := func(cents any) apitest.Response { return owner.Call(t, "PUT", path, map[string]any{"capCents": cents}) }
	for _, cents := range []int64{0, 99_999_999, 50_000} {
		require.Equal(t, cents, answer[api.SpendCap](t, set(cents), 200).CapCents.MustGet())
	}
	for _, cents := range []any{-1, 100_000_000, int64(1) << 62, 0.5, "50000"} {
		set(cents).Problem(t, 400, "invalid_input")
	}
	owner.Call(t, "PUT", path, map[string]any{}).Problem(t, 400, "invalid_input")
	require.EqualValues(t, 50_000, answer[api.SpendCap](t, owner.Call(t, "GET", path, nil), 200).CapCents.MustGet())
	require.True(t, answer[api.SpendCap](t, set(nil), 200).CapCents.IsNull())
}
