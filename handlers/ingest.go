package handlers

import (
	"context"
	"net/http"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
)

// IngestPublish decides whether an encoder may publish through an SRS server.
func (s *Server) IngestPublish(ctx context.Context, r api.IngestPublishRequestObject) (api.IngestPublishResponseObject, error) {
	err := s.areas.Streams.IngestPublish(ctx, toCallback(*r.Body))
	if no, refused := toIngestRefusal(err); refused {
		return api.IngestPublish403JSONResponse(no), nil
	}
	return api.IngestPublish201JSONResponse{}, err
}

// IngestUnpublish ends an encoder's connection.
func (s *Server) IngestUnpublish(ctx context.Context, r api.IngestUnpublishRequestObject) (api.IngestUnpublishResponseObject, error) {
	return api.IngestUnpublish201JSONResponse{}, s.areas.Streams.IngestUnpublish(ctx, toCallback(*r.Body))
}

// IngestPlay counts a player on an SRS server.
func (s *Server) IngestPlay(ctx context.Context, r api.IngestPlayRequestObject) (api.IngestPlayResponseObject, error) {
	err := s.areas.Streams.IngestPlay(ctx, toCallback(*r.Body))
	if no, refused := toIngestRefusal(err); refused {
		return api.IngestPlay403JSONResponse(no), nil
	}
	return api.IngestPlay201JSONResponse{}, err
}

// IngestStop ends the viewer that IngestPlay counted.
func (s *Server) IngestStop(ctx context.Context, r api.IngestStopRequestObject) (api.IngestStopResponseObject, error) {
	return api.IngestStop201JSONResponse{}, s.areas.Streams.IngestStop(ctx, toCallback(*r.Body))
}

// IngestDvr stores a recording that an SRS server reports.
func (s *Server) IngestDvr(ctx context.Context, r api.IngestDvrRequestObject) (api.IngestDvrResponseObject, error) {
	b := *r.Body
	err := s.areas.Streams.IngestDvr(ctx, toCallback(api.IngestCallback{
		ServerID: b.ServerID, ClientID: b.ClientID, Stream: b.Stream, Param: b.Param, IP: b.IP,
	}), stream.DVRFile{Cwd: orEmpty(b.Cwd), Path: b.File})
	if no, refused := toIngestRefusal(err); refused {
		return api.IngestDvr403JSONResponse(no), nil
	}
	return api.IngestDvr201JSONResponse{}, err
}

func toCallback(b api.IngestCallback) stream.Callback {
	return stream.Callback{
		ServerID: orEmpty(b.ServerID), ClientID: b.ClientID, Stream: b.Stream, Param: orEmpty(b.Param), IP: orEmpty(b.IP),
	}
}

// toIngestRefusal converts a forbidden problem to the form that SRS understands: an
// integer code other than 0.
func toIngestRefusal(err error) (api.IngestRefusal, bool) {
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.Forbidden {
		return api.IngestRefusal{}, false
	}
	return api.IngestRefusal{Code: http.StatusForbidden, Message: p.Message}, true
}
