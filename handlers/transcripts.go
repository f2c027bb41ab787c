package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/transcript"
)

// PublishCaption shows a caption to a session's participants, and keeps a final one.
func (s *Server) PublishCaption(ctx context.Context, r api.PublishCaptionRequestObject) (api.PublishCaptionResponseObject, error) {
	c, err := s.areas.Transcripts.PublishCaption(ctx, request.Caller(ctx), r.ID, transcript.Input{
		Key: r.Body.Key, Text: r.Body.Text, Final: *r.Body.Final, UserID: r.Body.UserID, Language: r.Body.Language,
		StartedAt: timeOrNil(r.Body.StartedAt), EndedAt: timeOrNil(r.Body.EndedAt),
	})
	if err != nil {
		return nil, err
	}
	return api.PublishCaption201JSONResponse{
		SessionID: c.SessionID, Key: c.Key, UserID: c.UserID, Speaker: c.Speaker, Text: c.Text, Final: c.Final, Kept: c.Kept,
		Language: orNull(c.Language), StartedAt: c.StartedAt, EndedAt: c.EndedAt,
	}, nil
}

// ListTranscriptLines lists the lines of a session's transcript.
func (s *Server) ListTranscriptLines(
	ctx context.Context, r api.ListTranscriptLinesRequestObject,
) (api.ListTranscriptLinesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Line)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Transcripts.ListTranscriptLines(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(l transcript.Line) string { return l.ID })
	return api.ListTranscriptLines200JSONResponse{
		Body: each(rows, toTranscriptLine), Headers: api.ListTranscriptLines200ResponseHeaders{Link: link},
	}, nil
}

func toTranscriptLine(l transcript.Line) api.TranscriptLine {
	return api.TranscriptLine{
		ID: l.ID, UserID: l.UserID, Speaker: l.Speaker, Text: l.Body, Language: orNull(l.Language), Source: api.TranscriptSource(l.Source),
		StartedAt: timestamp.From(l.StartedAt), EndedAt: timestamp.From(l.EndedAt), StartSec: l.Offset.Seconds(),
	}
}

// GetTranscriptVtt returns a session's transcript as WebVTT.
func (s *Server) GetTranscriptVtt(ctx context.Context, r api.GetTranscriptVttRequestObject) (api.GetTranscriptVttResponseObject, error) {
	text, err := s.areas.Transcripts.GetTranscriptVTT(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetTranscriptVtt200TextVttResponse{Body: whole{text, s}}, nil
}

// whole closes the client's connection if the rest of a body can't be read, so that the client doesn't take the beginning for the whole.
type whole struct {
	io.Reader
	server *Server
}

// Read implements io.Reader.
func (w whole) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.server.log.Error("a transcript was cut off", "error", err)
		panic(http.ErrAbortHandler)
	}
	return n, err //nolint:wrapcheck // a reader returns io.EOF as it is
}
