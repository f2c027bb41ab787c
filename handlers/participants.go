package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
)

// ListSessionParticipants lists the participants of a session: all who were
// invited or ever joined.
func (s *Server) ListSessionParticipants(
	ctx context.Context, r api.ListSessionParticipantsRequestObject,
) (api.ListSessionParticipantsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	rows, err := s.areas.Sessions.ListSessionParticipants(ctx, request.Caller(ctx), r.ID, r.Params.Cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(p db.Participant) string { return p.UserID })
	return api.ListSessionParticipants200JSONResponse{
		Body: each(rows, toParticipant), Headers: api.ListSessionParticipants200ResponseHeaders{Link: link},
	}, nil
}
