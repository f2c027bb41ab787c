package recording

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

// AdminView is a recording as admins see it.
type AdminView struct {
	db.Recording

	TenantName string
	// StreamName is nil for a session's recording.
	StreamName *string
}

// Filter selects recordings; nil selects all.
type Filter struct{ TenantID, Status *string }

// RetentionChange holds the changes of a recording's retention.
type RetentionChange struct {
	// SetRetain: RetainUntil replaces the time of the deletion; nil means never.
	SetRetain   bool
	RetainUntil *time.Time
	// LegalHold is nil to keep it.
	LegalHold *bool
	Reason    string
}

// ListAdminRecordings returns a page of all tenants' recordings, newest first, and the number of matching recordings on all
// pages. skip is the number of recordings before the page.
func (s *Service) ListAdminRecordings(ctx context.Context, f Filter, skip, limit int) (list []AdminView, total int64, err error) {
	if f.Status != nil && !slices.Contains(statuses(), *f.Status) {
		return nil, 0, problem.BadField("status", "must be one of %s", strings.Join(statuses(), ", "))
	}
	q := db.New(s.config.Pool)
	counted := statuses()
	if f.Status != nil {
		counted = []string{*f.Status}
	}
	total, err = q.CountAdminRecordings(ctx, db.CountAdminRecordingsParams{Tenant: f.TenantID, Statuses: counted})
	if err != nil {
		return nil, 0, fmt.Errorf("count recordings: %w", err)
	}
	if int64(skip) >= total {
		return []AdminView{}, total, nil
	}
	rows, err := q.ListAdminRecordings(ctx, db.ListAdminRecordingsParams{
		Tenant: f.TenantID, Status: f.Status, Skip: int64(skip), MaxRows: int32(limit),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list recordings: %w", err)
	}
	list = make([]AdminView, len(rows))
	for i, r := range rows {
		list[i] = AdminView{r.Recording, r.TenantName, r.StreamName}
	}
	return list, total, nil
}

// ListNewestOfStream returns a stream's newest recordings, newest first.
func (s *Service) ListNewestOfStream(ctx context.Context, streamID string, limit int32) ([]AdminView, error) {
	rows, err := db.New(s.config.Pool).ListAdminStreamRecordings(ctx, db.ListAdminStreamRecordingsParams{StreamID: streamID, MaxRows: limit})
	if err != nil {
		return nil, fmt.Errorf("list recordings of stream: %w", err)
	}
	list := make([]AdminView, len(rows))
	for i, r := range rows {
		list[i] = AdminView{r.Recording, r.TenantName, r.StreamName}
	}
	return list, nil
}

// DeleteAdminRecording deletes a recording of any tenant, as DeleteRecording does, and stores the reason.
func (s *Service) DeleteAdminRecording(ctx context.Context, actor audit.Actor, recordingID, reason string) (AdminView, error) {
	return s.changeAsAdmin(ctx, recordingID, func(tx pgx.Tx, r db.Recording) error {
		return s.deleteTx(ctx, tx, r, actor, &reason)
	})
}

// UpdateAdminRecordingRetention changes when a recording of any tenant is deleted automatically, and whether it may be deleted.
func (s *Service) UpdateAdminRecordingRetention(
	ctx context.Context, actor audit.Actor, recordingID string, in RetentionChange,
) (AdminView, error) {
	now := s.config.Now()
	switch {
	case !in.SetRetain && in.LegalHold == nil:
		return AdminView{}, problem.BadField("retainUntil", "or legalHold is required")
	case in.RetainUntil != nil && !in.RetainUntil.After(now):
		return AdminView{}, problem.BadField("retainUntil", "is in the past")
	}
	return s.changeAsAdmin(ctx, recordingID, func(tx pgx.Tx, r db.Recording) error {
		if r.Status == Deleted {
			return problem.Conflicting("the recording is deleted")
		}
		q := db.New(tx)
		next := db.SetRecordingRetentionParams{
			TenantID: r.TenantID, ID: r.ID, RetainUntil: r.RetainUntil, RetentionSet: r.RetentionSet || in.SetRetain,
			LegalHold: r.LegalHold, Now: now,
		}
		if in.SetRetain {
			next.RetainUntil = in.RetainUntil
		}
		if in.LegalHold != nil {
			next.LegalHold = *in.LegalHold
		}
		if err := q.SetRecordingRetention(ctx, next); err != nil {
			return fmt.Errorf("set retention: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, TenantID: r.TenantID, Action: "recording.set_retention", Entity: entity, EntityID: r.ID, Reason: in.Reason,
			Before: map[string]any{"retainUntil": r.RetainUntil, "legalHold": r.LegalHold},
			After:  map[string]any{"retainUntil": next.RetainUntil, "legalHold": next.LegalHold},
		})
	})
}

// changeAsAdmin runs fn with the locked recording and returns the recording afterwards.
func (s *Service) changeAsAdmin(
	ctx context.Context, recordingID string, fn func(tx pgx.Tx, r db.Recording) error,
) (v AdminView, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, err := q.LockRecording(ctx, recordingID)
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		if err := fn(tx, r); err != nil {
			return err
		}
		row, err := q.GetAdminRecording(ctx, recordingID)
		if err != nil {
			return fmt.Errorf("get recording: %w", err)
		}
		v = AdminView{row.Recording, row.TenantName, row.StreamName}
		return nil
	})
	return v, err
}
