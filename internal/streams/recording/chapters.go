package recording

import (
	"context"
	"time"

	"showfloor/gen/db"
)

// Chapter is the time in which a product was pinned. It lasts until the next chapter, the last one until the end.
type Chapter struct {
	At    time.Duration
	Title string
}

// chapters returns a chapter for each entry of a READY recording's product timeline; none for other recordings, of which the
// timeline may still change.
func (s *Service) chapters(ctx context.Context, r db.Recording) ([]Chapter, error) {
	if r.Status != Ready {
		return nil, nil
	}
	pins, err := storedTimeline(r)
	if err != nil || len(pins) == 0 {
		return nil, err
	}
	ids := make([]string, len(pins))
	for i, p := range pins {
		ids[i] = p.ProductID
	}
	names, err := s.config.Products.ListNames(ctx, r.TenantID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Chapter, 0, len(pins))
	for _, p := range pins {
		if name := names[p.ProductID]; name != "" {
			list = append(list, Chapter{At: time.Duration(p.TS * float64(time.Second)).Round(time.Millisecond), Title: name})
		}
	}
	return list, nil
}
