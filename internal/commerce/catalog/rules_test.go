package catalog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

func TestFree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stock, held, want, n int64
		counted              bool
		refused              string
	}{
		{stock: 5, held: 0, want: 5, n: 5, counted: true},
		{stock: 5, held: 2, want: 3, n: 3, counted: true},
		{stock: 5, held: 2, want: 4, n: 3, counted: true, refused: "only 3 of 4 remaining"},
		{stock: 5, held: 5, want: 1, n: 0, counted: true, refused: "only 0 of 1 remaining"},
		{stock: 1, held: 4, want: 1, n: 0, counted: true, refused: "only 0 of 1 remaining"}, // stock was corrected below the held units
		{stock: -1, held: 9, want: 1_000_000, n: 0, counted: false},
	} {
		p := db.Product{Stock: c.stock, Held: c.held}
		n, counted := Free(p)
		require.Equal(t, c.n, n, "%+v", c)
		require.Equal(t, c.counted, counted, "%+v", c)
		err := CheckFree(p, c.want)
		if c.refused == "" {
			require.NoError(t, err)
			continue
		}
		require.True(t, problem.Is(err, "insufficient_stock"))
		require.EqualError(t, err, c.refused)
	}
}

func TestCrossed(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		before        *int64
		after, mark   int64
		low, depleted bool
	}{
		{n(6), 5, 5, true, false},
		{n(5), 4, 5, false, false},
		{n(6), 0, 5, true, true},
		{n(1), 0, 5, false, true},
		{n(0), 0, 5, false, false},
		{n(1), 0, 0, true, true},
		{n(9), -1, 5, false, false},
		{n(-1), -1, 5, false, false},
		{n(-1), 5, 5, true, false},
		{n(-1), 0, 5, true, true},
		{n(-1), 6, 5, false, false},
		{n(4), 9, 5, false, false},
		{nil, 0, 5, false, false},
	} {
		low, depleted := crossed(c.before, db.Product{Stock: c.after, LowStockAt: c.mark})
		require.Equal(t, []bool{c.low, c.depleted}, []bool{low, depleted}, "%+v", c)
	}
}

func TestCurrenciesAreSorted(t *testing.T) {
	t.Parallel()
	list := strings.Fields(currencies)
	require.True(t, slices.IsSorted(list))
	for _, code := range list {
		require.True(t, isCurrency(code), code)
	}
	for _, code := range []string{"", "ZZZ", "DEM", "usd", "US", "USD EUR", "XXX"} {
		require.False(t, isCurrency(code), code)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{ "b": 1, "a": [1.50, null] }`: `{"a":[1.50,null],"b":1}`,
		`{"n":12345678901234567890}`:    `{"n":12345678901234567890}`,
		`{"s":"\ud800"}`:                `{"s":"` + "\ufffd" + `"}`,
	} {
		got, storable := canonical(json.RawMessage(text))
		require.True(t, storable)
		require.Equal(t, want, string(got))
		require.True(t, sameJSON(json.RawMessage(text), got))
	}
	for _, text := range []string{`{"a":"\u0000"}`, `{"\u0000":1}`, `{"a":[{"b":"x\u0000"}]}`, `{`} {
		_, storable := canonical(json.RawMessage(text))
		require.False(t, storable, text)
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{"": "%%", "Mug": "%mug%", `50%_\`: `%50\%\_\\%`, "STRAßE": "%strasse%"} {
		require.Equal(t, want, pattern(q))
	}
}

func TestLastOfEach(t *testing.T) {
	t.Parallel()
	in := func(sku, name string) Input { return Input{ExternalID: sku, Name: name} }
	require.Equal(t, []Input{in("b", "2"), in("a", "3")}, lastOfEach([]Input{in("a", "1"), in("b", "2"), in("a", "3")}))
	require.Empty(t, lastOfEach(nil))
}
