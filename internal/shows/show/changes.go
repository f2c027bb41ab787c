package show

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"showfloor/gen/db"
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
	Products []catalog.Shown `json:"products"`
}

// NoteProducts notes products that the catalog has changed, for the next PublishProducts. Notes are lost when the process ends;
// pages read their show again from time to time.
func (s *Service) NoteProducts(tenantID string, productIDs []string) {
	s.changes.note(tenantID, productIDs)
}

// PublishProducts publishes the noted products to the viewers of their tenants' shows that are on air. Notes of a tenant whose shows
// can't be read are lost. A panic becomes an error.
func (s *Service) PublishProducts(ctx context.Context) (err error) {
	defer recovered(&err)
	var failures []error
	for tenantID, noted := range s.changes.take() {
		failures = append(failures, s.publishTenant(ctx, tenantID, noted))
	}
	return errors.Join(failures...)
}

func (s *Service) publishTenant(ctx context.Context, tenantID string, noted map[string]bool) error {
	streams, err := s.config.Streams.ListOnAir(ctx, tenantID)
	if err != nil || len(streams) == 0 {
		return err
	}
	products, err := s.config.Catalog.ListByID(ctx, tenantID, slices.Collect(maps.Keys(noted)))
	if err != nil {
		return err
	}
	for i, streamID := range streams {
		data := changedProducts{[]catalog.Shown{}}
		if noted != nil && i < maxShowsRead {
			show, err := s.readShow(ctx, streamID)
			if err != nil {
				return err
			}
			if data.Products = shownIn(show, products); len(data.Products) == 0 {
				continue
			}
		}
		if len(data.Products) > maxPublished {
			data.Products = []catalog.Shown{}
		}
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: streamID, Type: realtime.ProductsUpdated, Data: data})
	}
	return nil
}

// shownIn returns those of a tenant's products that a show has, in the order of their ids. A show of the whole catalog has no
// archived products; they are returned too, because its viewers may still see them.
func shownIn(show *Show, products map[string]db.Product) []catalog.Shown {
	inShow := map[string]bool{}
	for _, p := range show.Products {
		inShow[p.ID] = true
	}
	var list []catalog.Shown
	for _, productID := range slices.Sorted(maps.Keys(products)) {
		p := products[productID]
		if inShow[productID] || (show.ProductIds == nil && !p.Active) {
			list = append(list, catalog.ShownOf(p))
		}
	}
	return list
}
