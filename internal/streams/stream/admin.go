package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

// AdminView is a stream as admins see it.
type AdminView struct {
	View

	TenantName string
	// Publisher is the current publisher; nil if there is none.
	Publisher *Publisher
}

// Publisher is the connection of a stream's publisher.
type Publisher struct {
	// ID is the connection's id, and Node the server that has it. For an SRS server, they are the ids of that server.
	ID, Node string
	// Source is one of the Source constants.
	Source     string
	RemoteIP   string
	AcceptedAt time.Time
	LiveAt     *time.Time
}

// BlockedUntil returns the time until which a key is refused after a forced stop; nil if it isn't.
func (s *Service) BlockedUntil(at *time.Time) *time.Time {
	if at == nil || !at.After(s.config.Now()) {
		return nil
	}
	return at
}

// GetAdminStream returns a stream of any tenant.
func (s *Service) GetAdminStream(ctx context.Context, streamID string) (AdminView, error) {
	views, err := s.adminViews(ctx, []string{streamID})
	if err != nil {
		return AdminView{}, err
	}
	if len(views) == 0 {
		return AdminView{}, problem.Missing("stream")
	}
	return views[0], nil
}

// ForceStopAdminStream is ForceStopStream; it returns the stream afterwards.
func (s *Service) ForceStopAdminStream(ctx context.Context, actor audit.Actor, streamID, reason string) (AdminView, error) {
	if err := s.ForceStopStream(ctx, actor, streamID, reason); err != nil {
		return AdminView{}, err
	}
	return s.GetAdminStream(ctx, streamID)
}

// ListAdminLiveStreams returns a page of the streams on air, newest first, and their number. tenantID is nil for all tenants.
func (s *Service) ListAdminLiveStreams(ctx context.Context, tenantID *string, skip int64, limit int32) ([]AdminView, int64, error) {
	return s.listOnAir(ctx, tenantID, nil, skip, limit)
}

func (s *Service) listOnAir(ctx context.Context, tenantID, status *string, skip int64, limit int32) ([]AdminView, int64, error) {
	q := db.New(s.config.Pool)
	total, err := q.CountStreamsOnAir(ctx, db.CountStreamsOnAirParams{TenantID: tenantID, Status: status})
	if err != nil {
		return nil, 0, fmt.Errorf("count streams on air: %w", err)
	}
	ids, err := q.ListPageOnAir(ctx, db.ListPageOnAirParams{TenantID: tenantID, Status: status, Skip: skip, MaxRows: limit})
	if err != nil {
		return nil, 0, fmt.Errorf("list streams on air: %w", err)
	}
	views, err := s.adminViews(ctx, ids)
	return views, total, err
}

// Statuses lists the states of a stream.
func Statuses() []string { return []string{Idle, Live, Reconnecting, Ended} }

// Scopes of the kept numbers of rows.
const (
	scopeStreams  = "streams"
	scopeAired    = "aired_streams"
	scopeKeys     = "stream_keys"
	scopeUsedKeys = "used_stream_keys"
)

// ListAdminStreamHistory returns a page of the streams that have been on air, newest first, and the number of all that match.
// status is nil for all of them; with Idle, the list has the streams that were never on air.
func (s *Service) ListAdminStreamHistory(
	ctx context.Context, tenantID, status *string, skip int64, limit int32,
) (list []AdminView, total int64, err error) {
	if status != nil && !slices.Contains(Statuses(), *status) {
		return nil, 0, problem.BadField("status", "must be one of %s", strings.Join(Statuses(), ", "))
	}
	if status != nil && (*status == Live || *status == Reconnecting) {
		return s.listOnAir(ctx, tenantID, status, skip, limit)
	}
	q := db.New(s.config.Pool)
	if total, err = countHistory(ctx, q, tenantID, status); err != nil {
		return nil, 0, fmt.Errorf("count streams: %w", err)
	}
	ids, err := listHistory(ctx, q, tenantID, status, windowOf(skip, limit, total))
	if err != nil {
		return nil, 0, fmt.Errorf("list streams: %w", err)
	}
	list, err = s.adminViews(ctx, ids)
	return list, total, err
}

// countHistory computes the number from kept ones and the number of streams on air, without reading the rows of the others.
func countHistory(ctx context.Context, q *db.Queries, tenantID, status *string) (int64, error) {
	aired, err := q.CountStreamRows(ctx, db.CountStreamRowsParams{Scope: scopeAired, TenantID: tenantID})
	switch {
	case err != nil || status == nil:
		return aired, err
	case *status == Idle:
		all, err := q.CountStreamRows(ctx, db.CountStreamRowsParams{Scope: scopeStreams, TenantID: tenantID})
		return max(all-aired, 0), err
	}
	live, err := q.CountStreamsOnAir(ctx, db.CountStreamsOnAirParams{TenantID: tenantID})
	return max(aired-live, 0), err
}

// window is a page as a query finds it: rows after skip others, from the nearer end of the list.
type window struct {
	skip   int64
	rows   int32
	oldest bool // from the oldest entry on; else from the newest
}

// windowOf returns the window of a page in a list of total entries, newest first. It has no rows if the list is shorter.
func windowOf(skip int64, limit int32, total int64) window {
	rows := max(min(int64(limit), total-skip), 0)
	if after := total - skip - rows; rows > 0 && after < skip {
		return window{after, int32(rows), true}
	}
	return window{skip, int32(rows), false}
}

// listHistory returns the ids of a page. Their order is that of the query: adminViews sorts them.
func listHistory(ctx context.Context, q *db.Queries, tenantID, status *string, w window) ([]string, error) {
	if w.rows == 0 {
		return nil, nil
	}
	if tenantID != nil {
		statuses := []string{Live, Reconnecting, Ended}
		if status != nil {
			statuses = []string{*status}
		}
		p := db.ListNewestOfTenantParams{TenantID: *tenantID, Statuses: statuses, Skip: w.skip, MaxRows: w.rows}
		if w.oldest {
			return q.ListOldestOfTenant(ctx, db.ListOldestOfTenantParams(p))
		}
		return q.ListNewestOfTenant(ctx, p)
	}
	if status != nil && *status == Idle {
		p := db.ListNewestIdleParams{Skip: w.skip, MaxRows: w.rows}
		if w.oldest {
			return q.ListOldestIdle(ctx, db.ListOldestIdleParams(p))
		}
		return q.ListNewestIdle(ctx, p)
	}
	p := db.ListNewestAiredParams{Ended: status != nil, Skip: w.skip, MaxRows: w.rows}
	if w.oldest {
		return q.ListOldestAired(ctx, db.ListOldestAiredParams(p))
	}
	return q.ListNewestAired(ctx, p)
}

// adminViews reads streams of any tenants, newest first.
func (s *Service) adminViews(ctx context.Context, ids []string) ([]AdminView, error) {
	if len(ids) == 0 {
		return []AdminView{}, nil
	}
	rows, err := db.New(s.config.Pool).ListAdminStreamViews(ctx, db.ListAdminStreamViewsParams{
		Ids: ids, Since: s.config.Now().Add(-mediaFresh),
	})
	if err != nil {
		return nil, fmt.Errorf("list streams by id: %w", err)
	}
	views := make([]AdminView, len(rows))
	for i, r := range rows {
		views[i] = AdminView{View: s.view(r.Stream, int(r.Plays), s.mediaOf(r)), TenantName: r.TenantName, Publisher: publisherOf(r)}
	}
	return views, nil
}

// mediaOf returns this node's figures, or those that the stream's node has written.
func (s *Service) mediaOf(r db.ListAdminStreamViewsRow) Media {
	m, here := s.config.Engine.Media(r.Stream.ID)
	if here || r.Viewers == nil || !onAir(r.Stream) && r.Stream.PublisherID == nil {
		return m
	}
	return Media{
		VideoKbps: int(*r.VideoKbps), AudioKbps: int(*r.AudioKbps), FPS: *r.Fps, Width: int(*r.Width), Height: int(*r.Height),
		VideoCodec: *r.VideoCodec, AudioCodec: *r.AudioCodec, Viewers: int(*r.Viewers),
		BFrames: *r.BFrames, KeyInterval: time.Duration(*r.KeyIntervalMs) * time.Millisecond, Ladder: *r.Ladder,
	}
}

func publisherOf(r db.ListAdminStreamViewsRow) *Publisher {
	if r.Connection == nil {
		return nil
	}
	p := &Publisher{
		ID: *r.Connection, Node: *r.PublisherNode, Source: *r.Source, RemoteIP: *r.RemoteIP, AcceptedAt: *r.AcceptedAt, LiveAt: r.LiveAt,
	}
	if server, client, ok := srsConnection(p.ID); ok {
		p.Node, p.ID = server, client
	}
	return p
}
