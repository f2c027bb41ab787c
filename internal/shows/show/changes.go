package show

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/outflow/realtime"
)

const (
	// maxPublished is the maximum number of products in a publication. If more have changed, it has none, and viewers read the show.
	maxPublished = 20
	// maxNoted is the maximum number of changed products of a tenant that are noted. If more change, viewers read the show.
	maxNoted = 200
	// maxShowsRead is the maximum number of a tenant's shows that are read for one publication. Viewers of further ones read theirs.
	maxShowsRead = 20
	// tenantTime is the deadline for the publications of one tenant.
	tenantTime = 5 * time.Second
)

// changes notes the products that the catalog has changed, until PublishProducts takes them.
type changes struct {
	mu sync.Mutex
	// byTenant has the ids of a tenant's products; nil for more than maxNoted.
	byTenant map[string]map[string]bool
}

// note adds products of a tenant.
func (c *changes) note(tenantID string, productIDs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byTenant == nil {
		c.byTenant = map[string]map[string]bool{}
	}
	noted, isKnown := c.byTenant[tenantID]
	if isKnown && noted == nil {
		return
	}
	if noted == nil {
		noted = map[string]bool{}
	}
	for _, id := range productIDs {
		noted[id] = true
	}
	if len(noted) > maxNoted {
		noted = nil
	}
	c.byTenant[tenantID] = noted
}

// take returns the noted products and forgets them.
func (c *changes) take() map[string]map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.byTenant
	c.byTenant = nil
	return taken
}

// changedProducts is the API's RealtimeProducts.
type changedProducts struct {
	ServerTime timestamp.Time  `json:"serverTime"`
	Products   []catalog.Shown `json:"products"`
}

// NoteProducts notes products that the catalog has changed, for the next PublishProducts. Notes are lost when the process ends;
// pages read their show again from time to time.
func (s *Service) NoteProducts(tenantID string, productIDs []string) {
	s.changes.note(tenantID, productIDs)
}

// PublishProducts publishes the noted products to the viewers of their tenants' shows that are on air. Viewers of a show that can't be
// read get a publication without products. A panic becomes an error.
func (s *Service) PublishProducts(ctx context.Context) error {
	var failures []error
	for tenantID, noted := range s.changes.take() {
		failures = append(failures, s.publishTenant(ctx, tenantID, noted))
	}
	return errors.Join(failures...)
}

func (s *Service) publishTenant(ctx context.Context, tenantID string, noted map[string]bool) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, tenantTime)
	defer cancel()
	streams, err := s.config.Streams.ListOnAir(ctx, tenantID)
	if err != nil {
		return err
	}
	var failures []error
	for i, streamID := range streams {
		data := changedProducts{timestamp.From(s.config.Now()), []catalog.Shown{}}
		if noted != nil && i < maxShowsRead {
			products, err := s.changedIn(ctx, tenantID, streamID, noted)
			if err == nil && len(products) == 0 {
				continue
			}
			failures = append(failures, err)
			if err == nil && len(products) <= maxPublished {
				data.Products = products
			}
		}
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: streamID, Type: realtime.ProductsUpdated, Data: data})
	}
	return errors.Join(failures...)
}

// changedIn returns those of a tenant's noted products that a show has, in their order there, then archived ones: a show of the whole
// catalog doesn't have these any more, but its viewers may still see them.
func (s *Service) changedIn(ctx context.Context, tenantID, streamID string, noted map[string]bool) ([]catalog.Shown, error) {
	show, err := s.readShow(ctx, streamID)
	if err != nil {
		return nil, err
	}
	var list []catalog.Shown
	var others []string
	for productID := range noted {
		if !slices.ContainsFunc(show.Products, func(p db.Product) bool { return p.ID == productID }) {
			others = append(others, productID)
		}
	}
	for _, p := range show.Products {
		if noted[p.ID] {
			list = append(list, catalog.ShownOf(p))
		}
	}
	if show.ProductIds != nil {
		return list, nil
	}
	rows, err := s.config.Catalog.ListByID(ctx, tenantID, others)
	if err != nil {
		return nil, err
	}
	for _, productID := range slices.Sorted(maps.Keys(rows)) {
		if p := rows[productID]; !p.Active {
			list = append(list, catalog.ShownOf(p))
		}
	}
	return list, nil
}
