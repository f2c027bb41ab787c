package session

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/quota"
)

// Patch holds the changes of a session; nil keeps a value.
type Patch struct {
	Name, Layout                                                *string
	Locked, WaitingRoom, RecordingEnabled, TranscriptionEnabled *bool
	Capacity                                                    *int32
	// Metadata is merged by key; an empty value deletes its key.
	Metadata map[string]string
}

// onlyMetadata reports whether the patch changes metadata and nothing else.
func (p Patch) onlyMetadata() bool {
	return p.Metadata != nil && p.Name == nil && p.Layout == nil && p.Locked == nil && p.WaitingRoom == nil &&
		p.RecordingEnabled == nil && p.TranscriptionEnabled == nil && p.Capacity == nil
}

// UpdateSession changes a session. Metadata can be changed after its end too, but
// only by the tenant's own server. Switching the waiting room off admits the
// waiting participants in the order of their arrival, as long as seats are free;
// the others enter when they ask again.
func (s *Service) UpdateSession(ctx context.Context, c tenancy.Caller, sessionID string, patch Patch) (View, error) {
	if patch.Metadata != nil && c.Participant != nil {
		return View{}, problem.New(problem.Forbidden, "forbidden", "metadata can be changed by your server only, not with a participant token")
	}
	var row db.Session
	err := s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, before db.Session) (err error) {
		if row, err = applyPatch(before, patch); err != nil || sameSettings(before, row) {
			return err
		}
		if row.Capacity > before.Capacity {
			if err := s.config.Quotas.CheckValueTx(ctx, tx, c.TenantID, quota.SessionCapacity, int64(row.Capacity)); err != nil {
				return err
			}
		}
		row.UpdatedAt = s.config.Now()
		if changed := announcedChanges(before, row); len(changed) > 0 {
			a.addSession(row, event.SessionUpdated, func(d eventdata.SessionEventData) any {
				return eventdata.SessionUpdatedData{SessionEventData: d, Changed: changed}
			})
		}
		if before.WaitingRoom && !row.WaitingRoom {
			if err := s.admitWaiting(ctx, tx, &row, By(c), a); err != nil {
				return err
			}
		}
		if err := saveSession(ctx, tx, row); err != nil {
			return err
		}
		if err := ChangedTx(ctx, tx, row.ID, ""); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.update", row.ID, settingsOf(before), settingsOf(row))
	})
	if err != nil {
		return View{}, err
	}
	return s.ViewOf(ctx, db.New(s.config.Pool), row)
}

// applyPatch returns the session with the changes, or a problem if one is refused.
func applyPatch(s db.Session, p Patch) (db.Session, error) {
	if !p.onlyMetadata() {
		if err := checkOpen(s); err != nil {
			return s, err
		}
	}
	if p.Capacity != nil && *p.Capacity != s.Capacity {
		if s.Type == Call {
			return s, problem.Conflicting("a call's capacity is always %d", s.Capacity)
		}
		if err := checkCapacity(s.Type, *p.Capacity); err != nil {
			return s, err
		}
		s.Capacity = *p.Capacity
	}
	if p.WaitingRoom != nil && *p.WaitingRoom != s.WaitingRoom && s.Type == Call {
		return s, problem.Conflicting("the callee enters a call by answering it")
	}
	set(&s.Name, p.Name)
	set(&s.Layout, p.Layout)
	set(&s.Locked, p.Locked)
	set(&s.WaitingRoom, p.WaitingRoom)
	set(&s.RecordingEnabled, p.RecordingEnabled)
	set(&s.TranscriptionEnabled, p.TranscriptionEnabled)
	kept, err := metadata.Merge(s.Metadata, p.Metadata)
	if err != nil {
		return s, err
	}
	s.Metadata = kept
	return s, nil
}

func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

// announcedChanges lists the changed fields that session.updated announces.
func announcedChanges(before, after db.Session) []eventdata.SessionChange {
	var list []eventdata.SessionChange
	for _, f := range []struct {
		name    eventdata.SessionChange
		changed bool
	}{
		{eventdata.SessionChangeLayout, before.Layout != after.Layout},
		{eventdata.SessionChangeLocked, before.Locked != after.Locked},
		{eventdata.SessionChangeWaitingRoom, before.WaitingRoom != after.WaitingRoom},
	} {
		if f.changed {
			list = append(list, f.name)
		}
	}
	return list
}

// settings are the fields of a session that can be changed, as the audit log shows them.
type settings struct {
	Name                 string `json:"name"`
	Layout               string `json:"layout"`
	Locked               bool   `json:"locked"`
	WaitingRoom          bool   `json:"waitingRoom"`
	Capacity             int32  `json:"capacity"`
	RecordingEnabled     bool   `json:"recordingEnabled"`
	TranscriptionEnabled bool   `json:"transcriptionEnabled"`

	Metadata json.RawMessage `json:"metadata"`
}

func settingsOf(s db.Session) settings {
	return settings{s.Name, s.Layout, s.Locked, s.WaitingRoom, s.Capacity, s.RecordingEnabled, s.TranscriptionEnabled, s.Metadata}
}

func sameSettings(a, b db.Session) bool { return reflect.DeepEqual(settingsOf(a), settingsOf(b)) }

// admitWaiting admits waiting participants in the order of their arrival until no
// seat is free. The others keep waiting.
func (s *Service) admitWaiting(ctx context.Context, tx pgx.Tx, row *db.Session, by *string, a *announcements) error {
	waiting, err := db.New(tx).LockWaiting(ctx, db.LockWaitingParams{TenantID: row.TenantID, RoomID: row.ID})
	if err != nil {
		return fmt.Errorf("lock waiting participants: %w", err)
	}
	now := s.config.Now()
	for i := range waiting {
		p := &waiting[i]
		err := admitParticipant(ctx, tx, row, p, now)
		if problem.Is(err, "session_full") {
			return saveParticipants(ctx, tx, now, waiting[:i]...)
		}
		if err != nil {
			return err
		}
		a.add(*row, event.SessionParticipantUpdated, participantUpdated(*p, by))
	}
	return saveParticipants(ctx, tx, now, waiting...)
}
