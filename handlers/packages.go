package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/packaging"
)

// CreatePackage adds a job that packages the files of a transcode.
func (s *Server) CreatePackage(ctx context.Context, r api.CreatePackageRequestObject) (api.CreatePackageResponseObject, error) {
	in := packaging.Spec{SegmentSec: packaging.DefaultSegmentSec}
	if r.Body != nil {
		in.Formats = each(r.Body.Formats, func(f api.PackageFormat) string { return string(f) })
		in.SegmentSec = valueOr(r.Body.SegmentSec, packaging.DefaultSegmentSec)
	}
	v, err := s.areas.Packages.CreatePackage(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	return api.CreatePackage201JSONResponse(toPackage(v)), nil
}

// ListRecordingPackages lists the packages of a recording.
func (s *Server) ListRecordingPackages(
	ctx context.Context, r api.ListRecordingPackagesRequestObject,
) (api.ListRecordingPackagesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Package)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Packages.ListPackages(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v packaging.View) string { return v.ID })
	return api.ListRecordingPackages200JSONResponse{
		Body: each(views, toPackage), Headers: api.ListRecordingPackages200ResponseHeaders{Link: link},
	}, nil
}

// GetPackage returns a job.
func (s *Server) GetPackage(ctx context.Context, r api.GetPackageRequestObject) (api.GetPackageResponseObject, error) {
	v, err := s.areas.Packages.GetPackage(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetPackage200JSONResponse(toPackage(v)), nil
}

// CancelPackage ends a job.
func (s *Server) CancelPackage(ctx context.Context, r api.CancelPackageRequestObject) (api.CancelPackageResponseObject, error) {
	v, err := s.areas.Packages.CancelPackage(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CancelPackage201JSONResponse(toPackage(v)), nil
}

func toPackage(v packaging.View) api.Package {
	return api.Package{
		ID: v.ID, TranscodeID: valueOr(v.SourceID, ""), RecordingID: v.RecordingID, Status: api.MediaJobStatus(v.Status),
		Progress: int(v.Progress), SegmentSec: v.SegmentSec,
		Formats: each(v.Formats, func(f string) api.PackageFormat { return api.PackageFormat(f) }),
		Outputs: each(v.Files, toPackageOutput), Error: orNull(v.Error), StartedAt: timeOrNull(v.StartedAt), FinishedAt: timeOrNull(v.FinishedAt),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

func toPackageOutput(f packaging.File) api.PackageOutput {
	return api.PackageOutput{Format: api.PackageFormat(f.Format), URL: f.URL, URLExpiresAt: timestamp.From(f.Expires), SizeBytes: f.Size}
}

// ReportPackage stores a report of an outside packager.
func (s *Server) ReportPackage(ctx context.Context, r api.ReportPackageRequestObject) (api.ReportPackageResponseObject, error) {
	report := packaging.Report{Report: mediajob.Report{Status: string(r.Body.Status), Progress: r.Body.Progress, Error: r.Body.Error}}
	for _, o := range r.Body.Outputs {
		report.Manifests = append(report.Manifests, packaging.Reported{Format: string(o.Format), URL: o.URL, Size: o.SizeBytes})
	}
	changed, err := s.areas.Packages.ReportPackage(ctx, r.ID, report)
	if err != nil {
		return nil, err
	}
	return api.ReportPackage201JSONResponse{Changed: changed}, nil
}
