package handlers

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/shows/show"
)

// GetReplay returns a public recording.
func (s *Server) GetReplay(ctx context.Context, r api.GetReplayRequestObject) (api.GetReplayResponseObject, error) {
	v, err := s.areas.Shows.GetReplay(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	text, err := encodedReplay(v)
	return sharedAnswer{text: text, now: s.areas.Shows.Now(), public: true}, err
}

// GetParticipantReplay returns a recording of the stream of the participant's room.
func (s *Server) GetParticipantReplay(
	ctx context.Context, r api.GetParticipantReplayRequestObject,
) (api.GetParticipantReplayResponseObject, error) {
	v, err := s.areas.Shows.GetParticipantReplay(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	text, err := encodedReplay(v)
	return sharedAnswer{text: text, now: s.areas.Shows.Now()}, err
}

// ListReplayMessages returns the chat of a public recording.
func (s *Server) ListReplayMessages(
	ctx context.Context, r api.ListReplayMessagesRequestObject,
) (api.ListReplayMessagesResponseObject, error) {
	from, err := readReplayPlace(r.Params.After)
	if err != nil {
		return nil, err
	}
	size := pageSize(r.Params.Limit)
	rows, err := s.areas.Shows.ListReplayMessages(ctx, r.ID, from, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := s.replayPage(ctx, rows, size)
	return api.ListReplayMessages200JSONResponse{
		Body: each(rows, toReplayMessage), Headers: api.ListReplayMessages200ResponseHeaders{Link: link},
	}, nil
}

// ListParticipantReplayMessages returns the chat of a recording of the stream of the participant's room.
func (s *Server) ListParticipantReplayMessages(
	ctx context.Context, r api.ListParticipantReplayMessagesRequestObject,
) (api.ListParticipantReplayMessagesResponseObject, error) {
	from, err := readReplayPlace(r.Params.After)
	if err != nil {
		return nil, err
	}
	size := pageSize(r.Params.Limit)
	rows, err := s.areas.Shows.ListParticipantReplayMessages(ctx, request.Caller(ctx), r.ID, from, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := s.replayPage(ctx, rows, size)
	return api.ListParticipantReplayMessages200JSONResponse{
		Body: each(rows, toReplayMessage), Headers: api.ListParticipantReplayMessages200ResponseHeaders{Link: link},
	}, nil
}

// CreateReplayGuestToken issues a token with which a user without an account buys in a replay.
func (s *Server) CreateReplayGuestToken(
	ctx context.Context, r api.CreateReplayGuestTokenRequestObject,
) (api.CreateReplayGuestTokenResponseObject, error) {
	g, err := s.areas.Shows.CreateReplayGuestToken(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return api.CreateReplayGuestToken201JSONResponse{Token: g.Token, UserID: g.UserID, ExpiresAt: timestamp.From(g.ExpiresAt)}, nil
}

// replayPage does the same as page. The next page begins after the last message.
func (s *Server) replayPage(ctx context.Context, rows []show.ReplayMessage, size int) ([]show.ReplayMessage, *string) {
	if len(rows) <= size {
		return rows, nil
	}
	next := request.URL(ctx)
	query := next.Query()
	query.Set("after", rows[size-1].ID)
	return rows[:size], new(fmt.Sprintf(`<%s%s?%s>; rel="next"`, s.publicURL, next.EscapedPath(), query.Encode()))
}

// maxReplaySecond is the longest recording, in seconds.
const maxReplaySecond = 366 * 24 * 60 * 60

// readReplayPlace reads the beginning of a page of a replay's chat: a message's id or a second.
func readReplayPlace(text *string) (show.ReplayPlace, error) {
	if given(text) == nil {
		return show.ReplayPlace{}, nil
	}
	if id.Message.Matches(*text) {
		return show.ReplayPlace{MessageID: *text}, nil
	}
	second, err := strconv.ParseFloat(*text, 64)
	if err != nil || math.IsNaN(second) || second < 0 {
		return show.ReplayPlace{}, problem.BadField("after", "must be a second of the recording or the id of a message, such as 93.4 or msg_…")
	}
	return show.ReplayPlace{At: time.Duration(math.Round(min(second, maxReplaySecond)*1000)) * time.Millisecond}, nil
}

func encodedReplay(v *show.Replay) ([]byte, error) {
	return v.Encoded(func() ([]byte, error) { return encodeShared(toReplay(v)) })
}

func toReplay(v *show.Replay) api.Replay {
	return api.Replay{
		ID: v.ID, StreamID: *v.StreamID, Name: v.Title(), StartedAt: timestamp.From(v.StartedAt), DurationSec: v.Length.Seconds(),
		URL: v.URL, URLExpiresAt: timestamp.From(v.ExpiresAt), PosterURL: orNull(v.PosterURL), StoryboardURL: orNull(v.StoryboardURL),
		Brand: toBrand(v.Tenant), CanBuy: v.Tenant.ChargesEnabled,
		ProductTimeline: each(v.Timeline, toTimelineEntry), Products: each(v.Products, toShowProduct),
	}
}

func toReplayMessage(m show.ReplayMessage) api.ReplayMessage {
	return api.ReplayMessage{ID: m.ID, TS: float64(m.At.Milliseconds()) / 1000, AuthorName: m.AuthorName, Body: orEmpty(m.Body)}
}
