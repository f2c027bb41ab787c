// Package audit writes the audit log: actor, action and target of a change. Entries are
// append-only and are committed in the transaction of the change.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/stored"
	"showfloor/internal/base/timestamp"
)

// Actor is the originator of a change, with its address.
type Actor struct {
	// Type is user, api_key, participant, admin or system.
	Type string
	ID   string
	// ImpersonatorID is the admin who acts in the actor's name; empty for none.
	ImpersonatorID string
	// ImpersonationID is the id of the token with which the admin acts, or which the admin makes with this change; empty for none.
	ImpersonationID string
	// IP and RequestID are empty when no request is behind the change.
	IP, RequestID string
}

// IsActorType reports whether text is a type of actor.
func IsActorType(text string) bool {
	return text == "user" || text == "api_key" || text == "participant" || text == "admin" || text == "system"
}

// System is the actor of changes that no caller requested, such as the end of a
// broadcast.
func System(component string) Actor { return Actor{Type: "system", ID: component} }

// Entry is one change.
type Entry struct {
	Actor    Actor
	TenantID string
	// Action is entity.verb, such as stream.rotate_key.
	Action           string
	Entity, EntityID string
	Reason           string
	// Before and After are small views of the changed values, without secrets; nil for none.
	Before, After any
}

// entryBytes is the size of an entry without its views, in bytes.
const entryBytes = 256

// WriteTx adds the entry in the caller's transaction.
func WriteTx(ctx context.Context, q *db.Queries, now time.Time, e Entry) error {
	before, err := view(e.Before)
	if err != nil {
		return err
	}
	after, err := view(e.After)
	if err != nil {
		return err
	}
	err = q.CreateAuditEntry(ctx, db.CreateAuditEntryParams{
		ID: id.New(id.Audit), At: now,
		ActorType: e.Actor.Type, ActorID: e.Actor.ID, ImpersonatorID: optional(e.Actor.ImpersonatorID),
		ImpersonationID: optional(e.Actor.ImpersonationID), TenantID: optional(e.TenantID),
		Action: e.Action, Entity: e.Entity, EntityID: e.EntityID,
		Reason: optional(e.Reason), IP: optional(e.Actor.IP), RequestID: optional(e.Actor.RequestID),
		Before: before, After: after,
	})
	if err != nil {
		return fmt.Errorf("write audit entry %s: %w", e.Action, err)
	}
	stored.Add(ctx, entryBytes+len(before)+len(after))
	return nil
}

func view(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	if values, ok := v.(map[string]any); ok {
		v = withAPITimes(values)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode audit view: %w", err)
	}
	return b, nil
}

// withAPITimes copies a view, with points in time as the API writes them: the API shows views as they are stored.
func withAPITimes(values map[string]any) map[string]any {
	shown := make(map[string]any, len(values))
	for name, v := range values {
		switch v := v.(type) {
		case time.Time:
			shown[name] = timestamp.From(v)
		case *time.Time:
			shown[name] = timestamp.Optional(v)
		case map[string]any:
			shown[name] = withAPITimes(v)
		default:
			shown[name] = v
		}
	}
	return shown
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
