package show

import (
	"context"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

const (
	// maxHeads is the number of page heads that are read at the same time: pages have no rate limit.
	maxHeads = 16
	// headTime is how long a page waits for its head.
	headTime = 2 * time.Second
)

// PageHead is what a show's page says about itself before its scripts run. Unknown fields are empty.
type PageHead struct {
	Title, Description, Image, SiteName, ThemeColor string
	// FrameOrigins are the websites that may frame the page.
	FrameOrigins []string
}

// PageHead returns the head of the page of a stream (room) or of a recording (vod); the zero PageHead for unknown ones, or if the
// database doesn't answer in time. Of a recording that is not public, only the tenant is named.
func (s *Service) PageHead(ctx context.Context, room, vod string) PageHead {
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	select {
	case s.heads <- struct{}{}:
		defer func() { <-s.heads }()
	case <-ctx.Done():
		return PageHead{}
	}
	if vod != "" {
		r, err := s.findReplay(ctx, vod)
		if err != nil || tenancy.CheckTenant(r.Tenant.Status) != nil {
			return PageHead{}
		}
		h := headOf(r.Tenant)
		if r.public {
			h.Title, h.Description, h.Image = r.Title(), "A replay by "+r.Tenant.Name, text(r.PosterURL)
			if h.Image == "" {
				h.Image = text(r.Stream.PosterURL)
			}
		}
		return h
	}
	v, err := s.GetShow(ctx, room)
	if err != nil {
		return PageHead{}
	}
	h := headOf(v.Tenant)
	h.Title, h.Description, h.Image = v.Name, "A live show by "+v.Tenant.Name, text(v.PosterURL)
	return h
}

func headOf(t db.Tenant) PageHead {
	return PageHead{SiteName: t.Name, ThemeColor: text(t.PrimaryColor), FrameOrigins: t.EmbedOrigins}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
