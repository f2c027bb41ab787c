package jobs_test

import (
	"log/slog"
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/commerce/billing"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/jobs"
)

// TestAHangingProcessorDelaysNoOtherJob checks that jobs which call the processor
// have queues and workers of their own.
func TestAHangingProcessorDelaysNoOtherJob(t *testing.T) {
	t.Parallel()
	queues := jobs.Config{Areas: &areas.Areas{}, Log: slog.New(slog.DiscardHandler)}.River().Queues
	for _, args := range []river.JobArgsWithInsertOpts{
		order.CheckArgs{}, order.FinishRefundArgs{}, billing.ProcessorEventArgs{}, catalog.CachePriceArgs{},
	} {
		queue := args.InsertOpts().Queue
		require.Contains(t, queues, queue)
		require.NotContains(t, []string{"", river.QueueDefault}, queue)
	}
}
