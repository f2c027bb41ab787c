package webhook

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/postgres"
)

// fanOutTime is for how long one run of FanOut goes on. Then other tenants have their turn.
const fanOutTime = 5 * time.Second

// FanOut writes a tenant's deferred deliveries, in transactions of
// some 500 deliveries each. It returns when to call again, the zero time when all are written. It
// may be interrupted and run again, also beside another run.
func (s *Service) FanOut(ctx context.Context, tenantID string) (again time.Time, err error) {
	end := time.Now().Add(fanOutTime)
	for more := true; more; {
		if time.Now().After(end) {
			return s.config.Now(), nil
		}
		err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
			more, err = s.config.Events.FanOutTx(ctx, tx, tenantID)
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}
