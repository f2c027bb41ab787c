package show

import (
	"context"
	"net/url"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

const (
	// maxHeads is the number of page heads that are read at the same time: pages have no rate limit.
	maxHeads = 16
	// headTime is how long a page waits for its head.
	headTime = 2 * time.Second
	// playlistName is the file at the end of each playback URL.
	playlistName = "index.m3u8"
)

// PlaybackTokens reads the tokens of playback URLs. An expired token is not an error.
type PlaybackTokens interface {
	CheckPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	CheckRoomPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	CheckRecording(ctx context.Context, token string) (recordingID string, expires time.Time, err error)
}

// PageAddress is what a page's URL says about its content. Each field may be any text, or empty.
type PageAddress struct {
	// Room is the id of a stream or of a session, Recording the id of a recording.
	Room, Recording string
	// Playlist is a playback URL, DVR that of the same broadcast's recording.
	Playlist, DVR string
}

// PageHead is what a page for viewers and guests says about itself before its scripts run. Unknown fields are empty.
type PageHead struct {
	Title, Description, Image string
	// SiteName, LogoURL, ThemeColor and AccentColor are the tenant's brand.
	SiteName, LogoURL, ThemeColor, AccentColor string
	// FrameOrigins are the websites that may frame the page.
	FrameOrigins []string
	// OnAir says that the page's show is on air.
	OnAir bool
}

// PageHead returns the head of a page; the zero PageHead for an unknown address, or if the database doesn't answer in time. Of a
// session, and of a recording that is not public, only the tenant is named. The tenant of a playback URL is named only if this server
// has signed the URL: otherwise an attacker could show his own video under a tenant's name.
func (s *Service) PageHead(ctx context.Context, page PageAddress) PageHead {
	ctx, cancel := context.WithTimeout(ctx, headTime)
	defer cancel()
	select {
	case s.heads <- struct{}{}:
		defer func() { <-s.heads }()
	case <-ctx.Done():
		return PageHead{}
	}
	if page.Playlist != "" {
		page.Room, page.Recording = s.signedFor(ctx, page.Playlist)
	}
	switch {
	case page.Recording != "" && page.DVR != "": // a recording has no other one
		return PageHead{}
	case page.Recording != "":
		return s.replayHead(ctx, page.Recording)
	case id.Session.Matches(page.Room):
		tenant, err := s.tenants.get(ctx, page.Room)
		if err != nil {
			return PageHead{}
		}
		return headOf(tenant)
	}
	v, err := s.GetShow(ctx, page.Room)
	if err != nil || page.DVR != "" && !s.records(ctx, v.Stream, page.DVR) {
		return PageHead{}
	}
	h := headOf(v.Tenant)
	h.Title, h.Description, h.Image = v.Name, "A live show by "+v.Tenant.Name, text(v.PosterURL)
	h.OnAir = onAir(v.Stream)
	return h
}

func (s *Service) replayHead(ctx context.Context, recordingID string) PageHead {
	r, err := s.findReplay(ctx, recordingID)
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

// signedFor returns the stream or the recording that a playback URL of this server plays, expired or not. Both are empty for any
// other URL.
func (s *Service) signedFor(ctx context.Context, playlist string) (streamID, recordingID string) {
	u, err := url.Parse(strings.TrimPrefix(playlist, s.config.PublicURL))
	if err != nil || u.IsAbs() || u.Host != "" || u.RawPath != "" {
		return "", ""
	}
	switch parts := strings.Split(u.Path, "/"); {
	case len(parts) == 4 && parts[0] == "" && parts[1] == "live" && parts[3] == playlistName:
		if streamID, _, err = s.config.Tokens.CheckPlayback(ctx, parts[2]); err != nil {
			streamID, _, err = s.config.Tokens.CheckRoomPlayback(ctx, parts[2])
		}
	case len(parts) == 5 && parts[0] == "" && parts[1] == "vod" && parts[4] == playlistName:
		if recordingID, _, err = s.config.Tokens.CheckRecording(ctx, parts[2]); recordingID != parts[3] {
			recordingID = ""
		}
	}
	if err != nil {
		return "", ""
	}
	return streamID, recordingID
}

// records reports whether a playback URL plays a recording of the stream.
func (s *Service) records(ctx context.Context, st db.Stream, playlist string) bool {
	_, recordingID := s.signedFor(ctx, playlist)
	if recordingID == "" {
		return false
	}
	row, err := s.config.Recordings.GetRow(ctx, tenancy.Caller{TenantID: st.TenantID}, recordingID)
	return err == nil && row.StreamID != nil && *row.StreamID == st.ID
}

// readSessionTenant reads the tenant of a session. A suspended one is the problem not_found.
func (s *Service) readSessionTenant(ctx context.Context, sessionID string) (db.Tenant, error) {
	tenantID, err := s.config.Sessions.FindSessionTenant(ctx, sessionID)
	if err != nil {
		return db.Tenant{}, err
	}
	tenant, err := s.config.Accounts.GetTenant(ctx, tenancy.Caller{TenantID: tenantID})
	if err == nil && tenancy.CheckTenant(tenant.Status) != nil {
		err = problem.Missing("session")
	}
	return tenant, err
}

func headOf(t db.Tenant) PageHead {
	return PageHead{
		SiteName: t.Name, LogoURL: text(t.LogoURL), ThemeColor: text(t.PrimaryColor), AccentColor: text(t.AccentColor),
		FrameOrigins: t.EmbedOrigins,
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
