package console

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
)

// How many rows of each kind a stream's detail contains.
const (
	streamRecordings = 20
	streamAudit      = 20
	streamRoutes     = 20
)

// StreamDetail is a stream with its newest rows of each kind.
type StreamDetail struct {
	Stream     stream.AdminView
	Tenant     Tenant
	Recordings []recording.AdminView
	Audit      []db.AuditEntry
}

// GetAdminStream returns a stream of any tenant with its details.
func (s *Service) GetAdminStream(ctx context.Context, streamID string) (d StreamDetail, err error) {
	if d.Stream, err = s.streams.GetAdminStream(ctx, streamID); err != nil {
		return d, err
	}
	q := db.New(s.pool)
	if d.Tenant, err = getTenant(ctx, q, d.Stream.TenantID); err != nil {
		return d, err
	}
	if d.Recordings, err = s.recordings.ListNewestOfStream(ctx, streamID, streamRecordings); err != nil {
		return d, err
	}
	d.Audit, err = q.ListAuditOfEntity(ctx, db.ListAuditOfEntityParams{EntityID: streamID, MaxRows: streamAudit})
	if err != nil {
		return d, fmt.Errorf("list audit entries: %w", err)
	}
	return d, nil
}

// GetAdminStreamInspection returns a stream of any tenant with its measurements. The outputs have the names of their targets.
func (s *Service) GetAdminStreamInspection(ctx context.Context, streamID string) (v stream.InspectedStream, err error) {
	if v, err = s.streams.GetAdminStreamInspection(ctx, streamID); err != nil || len(v.Outputs) == 0 {
		return v, err
	}
	routes, err := s.restreams.ListRestreamRoutes(ctx, tenancy.Caller{TenantID: v.TenantID}, streamID, nil, streamRoutes)
	if err != nil {
		return v, err
	}
	names := map[string]string{}
	for _, r := range routes {
		names[r.ID] = r.TargetName
	}
	for i, o := range v.Outputs {
		if name, known := names[o.Name]; known {
			v.Outputs[i].Name = name
		}
	}
	return v, nil
}
