package areas_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
)

// TestAreasThatDeleteOldRowsAreFound ensures that the retention jobs don't run
// without any area.
func TestAreasThatDeleteOldRowsAreFound(t *testing.T) {
	t.Parallel()
	var found []string
	for _, k := range (&areas.Areas{}).Keepers() {
		found = append(found, fmt.Sprintf("%T", k))
	}
	require.Subset(t, found, []string{
		"*mail.Service", "*idempotency.Service", "*account.Service", "*stream.Service", "*webhook.Service", "*tester.Service", "*session.Service", "*session.Retention", "*usage.Service",
		"*analytics.Service",
	})
}
