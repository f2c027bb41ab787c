package recording

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/usage"
)

// MeasureStorage stores how many bytes of recordings each tenant has now. It may be repeated at any time.
func (s *Service) MeasureStorage(ctx context.Context) error {
	now := s.config.Now()
	rows, err := db.New(s.config.Pool).SumStoredBytes(ctx)
	if err != nil {
		return fmt.Errorf("sum stored bytes: %w", err)
	}
	list := make([]usage.Level, len(rows))
	for i, r := range rows {
		list[i] = usage.Level{TenantID: r.TenantID, Value: r.Bytes}
	}
	return s.config.Usage.RecordStorage(ctx, now, list)
}
