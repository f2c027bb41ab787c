package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/outflow/event"
)

// ListEvents lists the tenant's events.
func (s *Server) ListEvents(ctx context.Context, r api.ListEventsRequestObject) (api.ListEventsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Event)
	if err != nil {
		return nil, err
	}
	filter := event.FeedFilter{
		Names: names(r.Params.Event), Subject: r.Params.Subject, Cursor: cursor,
		OldestFirst: r.Params.Order != nil && *r.Params.Order == api.EventOrderAsc,
	}
	rows, err := s.areas.Feed.ListEvents(ctx, request.Caller(ctx), filter, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(e db.Event) string { return e.ID })
	list := make([]api.EventRecord, len(rows))
	for i, row := range rows {
		if list[i], err = toEventRecord(row); err != nil {
			return nil, err
		}
	}
	return api.ListEvents200JSONResponse{Body: list, Headers: api.ListEvents200ResponseHeaders{Link: link}}, nil
}

// toEventRecord returns the body that webhook endpoints receive, and adds the
// values that they receive in headers.
func toEventRecord(e db.Event) (api.EventRecord, error) {
	var out api.EventRecord
	if err := json.Unmarshal(e.Payload, &out); err != nil {
		return out, fmt.Errorf("read payload of %s: %w", e.ID, err)
	}
	out.ID, out.Subject, out.Sequence = e.ID, e.Subject, e.Sequence
	return out, nil
}
