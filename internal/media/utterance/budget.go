package utterance

import (
	"time"

	"golang.org/x/time/rate"

	"showfloor/internal/media/oggopus"
)

// Clients choose the timestamps of their packets, and so the lengths of utterances. A user's utterances are limited to real time, with
// five percent for clocks that are fast, and burst seconds at once. Each counts as one second at least.
const (
	budgetRate  = 1.05 * oggopus.Rate
	budgetBurst = 30 * oggopus.Rate
	leastCost   = oggopus.Rate
)

// budget is that of one user in a room, also over several tracks. The listener's lock guards voices.
type budget struct {
	limiter *rate.Limiter
	voices  int
}

func newBudget() *budget { return &budget{limiter: rate.NewLimiter(budgetRate, budgetBurst)} }

// take reports whether an utterance of a length in samples is within the budget.
func (b *budget) take(length int64, now time.Time) bool {
	return b.limiter.AllowN(now, int(max(length, leastCost)))
}

// isFull reports whether nothing was used lately, so that a new budget is the same.
func (b *budget) isFull(now time.Time) bool { return b.limiter.TokensAt(now) >= budgetBurst }
