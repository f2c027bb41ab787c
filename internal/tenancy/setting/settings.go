package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

// View is a setting as admins see it.
type View struct {
	Key, Description string
	Value, Default   json.RawMessage
	// UpdatedAt and UpdatedBy are nil if the setting has its default.
	UpdatedAt *time.Time
	UpdatedBy *string
}

// ListAdminSettings lists the settings of a kind by key.
func (s *Service) ListAdminSettings(ctx context.Context, kind Kind) ([]View, error) {
	rows, err := db.New(s.pool).ListSettings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list settings: %w", err)
	}
	set := map[string]db.Setting{}
	for _, r := range rows {
		set[r.Key] = r
	}
	var views []View
	for _, d := range s.settings {
		if d.kind == kind {
			views = append(views, d.view(set[d.key]))
		}
	}
	return views, nil
}

// GetAdminSetting returns a setting of a kind.
func (s *Service) GetAdminSetting(ctx context.Context, kind Kind, key string) (View, error) {
	d, ok := s.find(kind, key)
	if !ok {
		return View{}, problem.Missing("setting")
	}
	row, err := db.New(s.pool).GetSetting(ctx, key)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return View{}, fmt.Errorf("get setting %s: %w", key, err)
	}
	return d.view(row), nil
}

// Change is a new value of a setting.
type Change struct {
	Value   json.RawMessage
	Reason  string
	IfMatch etag.Match
}

// UpdateAdminSetting sets a value, or restores the default. The current value has no
// effect.
func (s *Service) UpdateAdminSetting(ctx context.Context, by audit.Actor, kind Kind, key string, c Change) (View, error) {
	d, ok := s.find(kind, key)
	if !ok {
		return View{}, problem.Missing("setting")
	}
	value, err := d.read(c.Value)
	if err != nil {
		return View{}, problem.BadField("value", "%s", err.Error())
	}
	if d.guard != nil {
		if err := d.guard(value, by); err != nil {
			return View{}, err
		}
	}
	var after View
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		// There may be no row to lock.
		if err := q.LockSetting(ctx, key); err != nil {
			return fmt.Errorf("lock setting %s: %w", key, err)
		}
		row, err := q.GetSetting(ctx, key)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("get setting %s: %w", key, err)
		}
		before := d.view(row)
		if err := etag.Check(c.IfMatch, before); err != nil {
			return err
		}
		if after = before; bytes.Equal(before.Value, value) {
			return nil
		}
		if row, err = write(ctx, q, d, value, by, now); err != nil {
			return fmt.Errorf("write setting %s: %w", key, err)
		}
		after = d.view(row)
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: by, Action: "setting.update", Entity: "setting", EntityID: key, Reason: c.Reason,
			Before: map[string]any{"value": before.Value}, After: map[string]any{"value": after.Value},
		})
	})
	s.forget()
	return after, err
}

// write stores a value only if it differs from the default, which may change with the
// environment. It returns the row, empty for none.
func write(ctx context.Context, q *db.Queries, d definition, value json.RawMessage, by audit.Actor, now time.Time) (db.Setting, error) {
	if bytes.Equal(value, d.fallback) {
		return db.Setting{}, q.DeleteSetting(ctx, d.key)
	}
	return q.PutSetting(ctx, db.PutSettingParams{Key: d.key, Value: value, UpdatedBy: by.ID, Now: now})
}

func (s *Service) find(kind Kind, key string) (definition, bool) {
	for _, d := range s.settings {
		if d.kind == kind && d.key == key {
			return d, true
		}
	}
	return definition{}, false
}

// view joins the setting with its row, which is empty if there is none.
func (d definition) view(row db.Setting) View {
	v := View{Key: d.key, Description: d.description, Value: d.fallback, Default: d.fallback}
	if row.Key != "" {
		v.Value, v.UpdatedAt, v.UpdatedBy = compact(row.Value), &row.UpdatedAt, &row.UpdatedBy
	}
	return v
}

// compact removes the spaces that the database puts into a value, so that it equals the value that was set.
func compact(value json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if err := json.Compact(&out, value); err != nil {
		return value
	}
	return out.Bytes()
}
