package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/internal/event"
	"showfloor/internal/postgres"
)

// fanOutTime bounds one run of FanOut. Then other tenants have their turn.
const fanOutTime = 5 * time.Second

// fanOutPause is after how long a run is repeated if it found another run of its
// tenant. Meanwhile its worker is free for other tenants.
const fanOutPause = time.Second

// FanOut writes a tenant's deferred deliveries, in transactions of about 500
// deliveries each. It returns when to call it again, the zero time when all are
// written. It may be interrupted and repeated. If two runs of a tenant overlap, on
// any nodes, one of them stops.
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
		if errors.Is(err, event.ErrFanOutTaken) {
			return s.config.Now().Add(fanOutPause), nil
		}
		if err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}
