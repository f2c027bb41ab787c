package setting

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRatesAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		rate Rate
		text string
	}{
		"0": {0, "0"}, "0.0": {0, "0"}, "0.01": {1, "0.01"}, "0.1": {10, "0.1"}, "2.5": {250, "2.5"}, "2.50": {250, "2.5"},
		"10": {1000, "10"}, "010": {1000, "10"}, "12.34": {1234, "12.34"}, "99.99": {9999, "99.99"}, "100": {10000, "100"}, "100.00": {10000, "100"},
	} {
		rate, err := ParseRate(text)
		require.NoError(t, err, text)
		require.Equal(t, want.rate, rate, text)
		require.Equal(t, want.text, rate.String(), text)
	}
	for _, text := range []string{"", " ", "100.01", "101", "1000", "-1", "-0", "+1", "1.", ".5", "1.234", "2,5", "1e1", "0x1", "five", "1 ", "\n1", "1\n", "null", `"1"`, "٣"} {
		_, err := ParseRate(text)
		require.Error(t, err, "%q", text)
	}
}

func TestSharesAreRoundedHalfUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate        Rate
		total, want int64
	}{
		{0, 999, 0},
		{10000, 999, 999},
		{250, 0, 0},
		{250, 19, 0},    // 0.475
		{250, 20, 1},    // 0.5
		{250, 60, 2},    // 1.5
		{250, 1999, 50}, // 49.975
		{1, 4999, 0},
		{1, 5000, 1},
		{9999, 1, 1},
		{5000, 1, 1},
		{4999, 1, 0},
		{10000, math.MaxInt64, math.MaxInt64},
		{5000, math.MaxInt64, math.MaxInt64/2 + 1},
	} {
		require.Equal(t, c.want, c.rate.Of(c.total), "%s %% of %d", c.rate, c.total)
	}
	for range 10_000 {
		rate, total := rand.Int64N(10001), rand.Int64N(math.MaxInt64)>>rand.IntN(63)
		exact := new(big.Int).Mul(big.NewInt(rate), big.NewInt(total))
		exact.Div(exact.Add(exact, big.NewInt(5000)), big.NewInt(10000))
		require.Equal(t, exact.Int64(), Rate(rate).Of(total), "%d of %d", rate, total)
	}
}
