package shop

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// maxClicks is the maximum number of clicks that are written together.
const maxClicks = 1000

// clickKey identifies a stream.
type clickKey struct{ tenantID, streamID string }

// CountClick counts that the calling participant opened a product. Clicks in one stream that arrive during a write are written
// together, so that thousands of viewers don't wait for the row of one product.
func (s *Service) CountClick(ctx context.Context, c tenancy.Caller, showID, productID string) error {
	target, err := s.config.Shows.FindBuyer(ctx, c, showID)
	if err != nil {
		return err
	}
	known, err := s.clicks.Do(ctx, clickKey{c.TenantID, target.StreamID}, productID)
	if err == nil && !known {
		err = problem.Missing("product")
	}
	return err
}

// addClicks counts clicks on products of one stream, and reports for each whether the tenant has the product.
func (s *Service) addClicks(ctx context.Context, key clickKey, productIDs []string) ([]bool, error) {
	products, err := s.config.Catalog.ListByID(ctx, key.tenantID, productIDs)
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	known := make([]bool, len(productIDs))
	for i, productID := range productIDs {
		if _, known[i] = products[productID]; known[i] {
			sums[productID]++
		}
	}
	if len(sums) == 0 {
		return known, nil
	}
	p := db.AddClicksParams{TenantID: key.tenantID, StreamID: key.streamID, ProductIds: slices.Sorted(maps.Keys(sums))}
	for _, productID := range p.ProductIds {
		p.Clicks = append(p.Clicks, sums[productID])
	}
	if err := db.New(s.config.Pool).AddClicks(ctx, p); err != nil {
		return nil, fmt.Errorf("add clicks: %w", err)
	}
	return known, nil
}
