package handlers

import (
	"context"
	"net/http"

	"showfloor/gen/api"
	"showfloor/internal/problem"
	"showfloor/internal/stream"
)

// IngestPublish lets an encoder on an SRS server in.
func (s *Server) IngestPublish(ctx context.Context, r api.IngestPublishRequestObject) (api.IngestPublishResponseObject, error) {
	err := s.streams.IngestPublish(ctx, toCallback(*r.Body))
	if p, refused := problem.As(err); refused {
		return api.IngestPublish403JSONResponse(refusal(p)), nil
	}
	return api.IngestPublish201JSONResponse{}, err
}

// IngestUnpublish ends an encoder's connection.
func (s *Server) IngestUnpublish(ctx context.Context, r api.IngestUnpublishRequestObject) (api.IngestUnpublishResponseObject, error) {
	err := s.streams.IngestUnpublish(ctx, toCallback(*r.Body))
	if p, refused := problem.As(err); refused {
		return api.IngestUnpublish403JSONResponse(refusal(p)), nil
	}
	return api.IngestUnpublish201JSONResponse{}, err
}

// IngestPlay counts a player on an SRS server.
func (s *Server) IngestPlay(ctx context.Context, r api.IngestPlayRequestObject) (api.IngestPlayResponseObject, error) {
	err := s.streams.IngestPlay(ctx, toCallback(*r.Body))
	if p, refused := problem.As(err); refused {
		return api.IngestPlay403JSONResponse(refusal(p)), nil
	}
	return api.IngestPlay201JSONResponse{}, err
}

// IngestStop ends what IngestPlay counted.
func (s *Server) IngestStop(ctx context.Context, r api.IngestStopRequestObject) (api.IngestStopResponseObject, error) {
	err := s.streams.IngestStop(ctx, toCallback(*r.Body))
	if p, refused := problem.As(err); refused {
		return api.IngestStop403JSONResponse(refusal(p)), nil
	}
	return api.IngestStop201JSONResponse{}, err
}

// IngestDvr notes a file that an SRS server has recorded.
func (s *Server) IngestDvr(ctx context.Context, r api.IngestDvrRequestObject) (api.IngestDvrResponseObject, error) {
	b := *r.Body
	err := s.streams.IngestDvr(ctx, stream.Callback{
		ServerID: orEmpty(b.ServerID), ClientID: b.ClientID, Stream: b.Stream, Param: orEmpty(b.Param), IP: orEmpty(b.IP),
	}, orEmpty(b.Cwd), b.File)
	if p, refused := problem.As(err); refused {
		return api.IngestDvr403JSONResponse(refusal(p)), nil
	}
	return api.IngestDvr201JSONResponse{}, err
}

func toCallback(b api.IngestCallback) stream.Callback {
	return stream.Callback{
		ServerID: orEmpty(b.ServerID), ClientID: b.ClientID, Stream: b.Stream, Param: orEmpty(b.Param), IP: orEmpty(b.IP),
	}
}

// refusal is the form that SRS understands: an integer code that isn't 0.
func refusal(p *problem.Error) api.IngestRefusal {
	return api.IngestRefusal{Code: http.StatusForbidden, Message: p.Message}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
