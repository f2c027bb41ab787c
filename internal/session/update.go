package session

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/metadata"
	"showfloor/internal/problem"
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

// updatedData is the data of session.updated.
type updatedData struct {
	Data

	Changed []string `json:"changed"`
}

// UpdateSession changes a session. Metadata can be changed after its end too, but
// only by the tenant's own server. Switching the waiting room off admits the
// waiting participants in the order of their arrival, as long as seats are free;
// the others enter when they ask again.
func (s *Service) UpdateSession(ctx context.Context, c account.Caller, sessionID string, patch Patch) (View, error) {
	if patch.Metadata != nil && c.Participant != nil {
		return View{}, problem.New(problem.Forbidden, "forbidden", "metadata can be changed by your server only, not with a participant token")
	}
	var row db.Session
	err := s.change(ctx, c, sessionID, func(tx pgx.Tx, t *told) error {
		before, err := s.lockFor(ctx, tx, c, sessionID, hosting)
		if err != nil {
			return err
		}
		if row, err = patched(before, patch); err != nil || sameSettings(before, row) {
			return err
		}
		row.UpdatedAt = s.config.Now()
		if changed := announcedChanges(before, row); len(changed) > 0 {
			t.addSession(row, event.SessionUpdated, func(d Data) any { return updatedData{d, changed} })
		}
		if before.WaitingRoom && !row.WaitingRoom {
			if err := s.admitWaiting(ctx, tx, &row, By(c), t); err != nil {
				return err
			}
		}
		if err := saveSession(ctx, tx, row); err != nil {
			return err
		}
		if err := Changed(ctx, tx, row.ID, ""); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.update", row.ID, settingsOf(before), settingsOf(row))
	})
	if err != nil {
		return View{}, err
	}
	return s.ViewOf(ctx, db.New(s.config.Pool), row)
}

// patched returns the session with the changes applied, or why they are refused.
func patched(s db.Session, p Patch) (db.Session, error) {
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
		return s, problem.Conflicting("into a call its callee is let by answering")
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
func announcedChanges(before, after db.Session) []string {
	var list []string
	for _, f := range []struct {
		name    string
		changed bool
	}{
		{"layout", before.Layout != after.Layout},
		{"locked", before.Locked != after.Locked},
		{"waitingRoom", before.WaitingRoom != after.WaitingRoom},
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
func (s *Service) admitWaiting(ctx context.Context, tx pgx.Tx, row *db.Session, by *string, t *told) error {
	waiting, err := db.New(tx).LockWaiting(ctx, db.LockWaitingParams{TenantID: row.TenantID, RoomID: row.ID})
	if err != nil {
		return fmt.Errorf("lock those who wait: %w", err)
	}
	now := s.config.Now()
	for i := range waiting {
		p := &waiting[i]
		err := letIn(ctx, tx, row, p, now)
		if problem.Is(err, "session_full") {
			return saveParticipants(ctx, tx, now, waiting[:i]...)
		}
		if err != nil {
			return err
		}
		t.add(*row, event.SessionParticipantUpdated, ParticipantDataOf(*p, by))
	}
	return saveParticipants(ctx, tx, now, waiting...)
}
