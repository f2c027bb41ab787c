package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/bandwidth"
	"showfloor/internal/tenancy/usage"
)

// defaultAdminDays and maxAdminDays are the numbers of days in admins' reports (the parameter AdminDays).
const (
	defaultAdminDays = 30
	maxAdminDays     = 365
)

// GetAdminBandwidth returns the bytes in and out.
func (s *Server) GetAdminBandwidth(ctx context.Context, r api.GetAdminBandwidthRequestObject) (api.GetAdminBandwidthResponseObject, error) {
	days := defaultAdminDays
	if err := readNumber("days", r.Params.Days, maxAdminDays, &days); err != nil {
		return nil, err
	}
	o, err := s.areas.Bandwidth.GetAdminBandwidth(ctx, days)
	if err != nil {
		return nil, err
	}
	return api.GetAdminBandwidth200JSONResponse{
		From: timestamp.From(o.From), To: timestamp.From(o.To), IngressBytes: o.Received, EgressBytes: o.Sent, CdnBytes: o.Delivered,
		Days: each(o.Days, toBandwidthDay), Tenants: each(o.Tenants, toTenantBandwidth),
	}, nil
}

func toBandwidthDay(d usage.DayTraffic) api.BandwidthDay {
	return api.BandwidthDay{
		StartsAt: timestamp.From(d.Day), IngressBytes: d.Received, LiveBytes: d.Live, RecordingBytes: d.Recordings, SessionBytes: d.Rooms,
		RestreamBytes: d.Restreams, CdnBytes: d.CDN,
	}
}

func toTenantBandwidth(t bandwidth.TenantTraffic) api.TenantBandwidth {
	return api.TenantBandwidth{
		TenantID: t.TenantID, TenantName: t.Name, Plan: api.PlanTier(t.Plan), IngressBytes: t.Received, EgressBytes: t.Sent,
		CdnBytes: t.Delivered, Percent: float32(t.Percent),
	}
}

// ImportCdnLogs adds rows of a CDN's log to tenants' usage.
func (s *Server) ImportCdnLogs(ctx context.Context, r api.ImportCdnLogsRequestObject) (api.ImportCdnLogsResponseObject, error) {
	done, err := s.areas.Bandwidth.ImportCdnLogs(ctx, request.Admin(ctx), r.Body.Source, each(r.Body.Rows, toCDNRow))
	if err != nil {
		return nil, err
	}
	return api.ImportCdnLogs201JSONResponse{
		Received: done.Received, Imported: done.Imported, Duplicates: done.Duplicates, Unattributed: done.Unattributed, Bytes: done.Bytes,
	}, nil
}

func toCDNRow(r api.CdnLogRow) bandwidth.Row {
	return bandwidth.Row{RequestID: r.RequestID, At: r.At.Time, Path: r.Path, Status: r.Status, Bytes: r.Bytes}
}
