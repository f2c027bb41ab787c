package walk_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// receives waits until a message with the text has come on a WebSocket of the page.
func (c *console) receives(text string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.log.Received(text) }, time.Minute, 20*time.Millisecond, "%s on the channel", text)
}

// The channel opens again after the session has expired and the user has signed in over the page.
func TestThePageFollowsTheRealtimeChannel(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en")
	owner := c.s.Register(t)
	key := owner.Key(t, tenancy.CatalogWrite)
	c.signsIn(owner, "/catalog")
	c.sees("Catalog")
	c.receives(`"subscribe"`)
	lamp := owner.Product(t, map[string]any{"name": "Desk lamp"})
	c.receives(lamp.ID)
	c.sees("Desk lamp")

	c.s.Clock.Advance(tokenLife)
	c.sees("Sign in again")
	c.types("email", owner.Email)
	c.types("password", apitest.Password)
	c.clicks("Sign in")
	var made []string
	require.Eventually(t, func() bool {
		made = append(made, key.Product(t, map[string]any{"name": "Garden chair"}).ID)
		return slices.ContainsFunc(made, c.log.Received)
	}, time.Minute, time.Second, "the channel opens again")
	c.sees("Garden chair")
	c.complains(refusedFirst)
}

func TestAnActingAdminsPageFollowsTheChannel(t *testing.T) {
	t.Parallel()
	c := openAlone(t, "en", apitest.Options{})
	owner, root := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	c.impersonates(root, owner.TenantID)
	c.receives(`"subscribe"`)
	c.receives(owner.Product(t, nil).ID)
}
