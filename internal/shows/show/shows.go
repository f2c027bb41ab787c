package show

import (
	"context"
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
)

const (
	// maxProducts, maxAuctions and maxDrops bound a show, as the API document says.
	maxProducts, maxAuctions, maxDrops = 200, 50, 20
	// endedAuctions is how long an auction is shown after its end.
	endedAuctions = 10 * time.Minute
)

// Show is a stream with all that viewers' pages need at their start, at one time. Many callers share it: it must not be changed.
type Show struct {
	stream.View
	encoded

	Tenant db.Tenant
	// Pinned is the product that the host shows; nil for none.
	Pinned *string
	// Products are those of the stream, or the newest of the tenant, then those that are pinned or in an auction.
	Products []db.Product
	// Auctions and Drops are in descending order of their ids.
	Auctions []auction.View
	Drops    []db.Discount
	// ReplayID is the newest READY recording, if it is public; nil otherwise.
	ReplayID *string
}

// GetShow returns a stream of any tenant as viewers see it, up to a second old. An unknown stream, and one of a suspended tenant,
// is the problem not_found.
func (s *Service) GetShow(ctx context.Context, streamID string) (*Show, error) {
	if !id.Stream.Matches(streamID) {
		return nil, problem.Missing("show")
	}
	return s.shows.get(ctx, streamID)
}

// readShow makes one query for each part of a show.
func (s *Service) readShow(ctx context.Context, streamID string) (*Show, error) {
	v, err := s.config.Streams.FindStream(ctx, streamID)
	if problem.Is(err, "not_found") {
		return nil, problem.Missing("show")
	}
	if err != nil {
		return nil, err
	}
	show, c := &Show{View: v}, tenancy.Caller{TenantID: v.TenantID}
	if show.Tenant, err = s.config.Accounts.GetTenant(ctx, c); err != nil {
		return nil, err
	}
	if tenancy.CheckTenant(show.Tenant.Status) != nil {
		return nil, problem.Missing("show")
	}
	now := s.config.Now()
	if show.Auctions, err = s.config.Auctions.ListStreamAuctions(ctx, c, streamID, now.Add(-endedAuctions), maxAuctions); err != nil {
		return nil, err
	}
	if show.Drops, err = s.config.Discounts.ListDrops(ctx, c, streamID, maxDrops); err != nil {
		return nil, err
	}
	pin, err := s.config.Chat.LastPin(ctx, c.TenantID, streamID)
	if err != nil {
		return nil, err
	}
	show.Pinned = pinned(v.Stream, pin)
	if err := s.addProducts(ctx, c, show); err != nil {
		return nil, err
	}
	show.ReplayID, err = s.newestReplay(ctx, c, v.Stream)
	return show, err
}

// pinned is the product that a pin shows now; nil for none. While a stream is on air, a pin of an earlier broadcast doesn't count.
func pinned(st db.Stream, pin *db.ProductPin) *string {
	switch {
	case pin == nil, pin.ProductID == "":
		return nil
	case onAir(st) && pin.PinnedAt.Before(st.StartedAt.Add(-recording.PinLead)):
		return nil
	}
	return &pin.ProductID
}

// addProducts reads the products of a show, and unpins one that is archived.
func (s *Service) addProducts(ctx context.Context, c tenancy.Caller, show *Show) (err error) {
	var extra []string
	if show.Pinned != nil {
		extra = append(extra, *show.Pinned)
	}
	for _, a := range show.Auctions {
		extra = append(extra, a.ProductID)
	}
	slices.Sort(extra)
	extra = slices.Compact(extra)
	shelf := show.ProductIds
	var rows []db.Product
	if shelf == nil {
		rows, err = s.config.Catalog.ListProducts(ctx, c, catalog.Filter{ActiveOnly: true}, nil, maxProducts)
		if err != nil {
			return err
		}
		for _, p := range rows {
			shelf = append(shelf, p.ID)
		}
	}
	if show.Products, err = s.listInOrder(ctx, c, shelved(shelf, extra), rows...); err != nil {
		return err
	}
	isPinned := func(p db.Product) bool { return show.Pinned != nil && p.ID == *show.Pinned && p.Active }
	if !slices.ContainsFunc(show.Products, isPinned) {
		show.Pinned = nil
	}
	return nil
}

// listInOrder returns the tenant's products in the order of ids, which has none twice, without those that don't exist. known has
// some of them already.
func (s *Service) listInOrder(ctx context.Context, c tenancy.Caller, ids []string, known ...db.Product) ([]db.Product, error) {
	isKnown := func(productID string) bool {
		return slices.ContainsFunc(known, func(p db.Product) bool { return p.ID == productID })
	}
	products, err := s.config.Catalog.ListByID(ctx, c.TenantID, slices.DeleteFunc(slices.Clone(ids), isKnown))
	if err != nil {
		return nil, err
	}
	for _, p := range known {
		products[p.ID] = p
	}
	list := make([]db.Product, 0, len(ids))
	for _, productID := range ids {
		if p, found := products[productID]; found {
			list = append(list, p)
		}
	}
	return list, nil
}

// shelved lists the products that a show has: the shelf in its order, then the extra ones that aren't on it. If there are too many,
// the end of the shelf makes room.
func shelved(shelf, extra []string) []string {
	list := slices.Clone(shelf)
	for _, productID := range extra {
		if !slices.Contains(shelf, productID) {
			list = append(list, productID)
		}
	}
	for i := len(list) - 1; i >= 0 && len(list) > maxProducts; i-- {
		if !slices.Contains(extra, list[i]) {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// newestReplay is the READY recording of the stream's last broadcast, if it is public; nil otherwise.
func (s *Service) newestReplay(ctx context.Context, c tenancy.Caller, st db.Stream) (*string, error) {
	if st.StartedAt == nil {
		return nil, nil //nolint:nilnil // no broadcast is not a fault
	}
	row, err := s.config.Recordings.NewestReplay(ctx, c, st.ID, *st.StartedAt)
	if err != nil || row == nil {
		return nil, err
	}
	public, err := recording.IsPublic(*row, st.PublicReplay)
	if err != nil || !public {
		return nil, err
	}
	return &row.ID, nil
}
