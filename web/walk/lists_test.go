package walk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFileHasRowsThatAreNotLoaded(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en")
	owner := c.s.Register(t)
	const products = 450 // three pages of the server
	items := make([]any, products)
	for i := range items {
		items[i] = map[string]any{"externalId": fmt.Sprintf("MUG-%03d", i), "name": "Mug", "priceCents": 950}
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": items}).Is(t, http.StatusCreated)
	c.signsIn(owner, "/catalog")
	c.sees("Load more")
	lines := strings.Split(strings.TrimSpace(c.exports("Export CSV")), "\r\n")
	require.Len(t, lines, 1+products)
	for i := range items {
		require.Equal(t, 1, strings.Count(strings.Join(lines, "\n"), fmt.Sprintf("MUG-%03d", i)))
	}
	c.complains(refusedFirst)
}
