package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/session"
)

// PinInput describes a pin.
type PinInput struct {
	TenantID, RoomID string
	// UserID must be a host of the room. An empty one stands for the tenant's own server.
	UserID string
	// ProductID is empty to show no product any more.
	ProductID string
	// Since is the time from which on earlier pins count: if the last of them has the same product, nothing is written. nil always writes.
	Since *time.Time
}

// PinProduct pins a product, or none, in a stream's or session's room.
func (s *Service) PinProduct(ctx context.Context, in PinInput) error {
	key := channelKey{in.TenantID, in.RoomID}
	return s.inOrder(ctx, key, func(ctx context.Context) error {
		return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			if err := checkPinner(ctx, tx, key, in.UserID); err != nil {
				return err
			}
			if in.ProductID != "" {
				if err := s.config.Products.CheckActiveTx(ctx, tx, in.TenantID, in.ProductID); err != nil {
					return err
				}
			}
			last, err := lastPin(ctx, db.New(tx), key)
			if err != nil || isPinned(last, in) {
				return err
			}
			err = db.New(tx).CreatePin(ctx, db.CreatePinParams{
				ID: id.New(id.Pin), TenantID: in.TenantID, RoomID: in.RoomID, ProductID: in.ProductID, PinnedBy: in.UserID, Now: s.config.Now(),
			})
			if err != nil {
				return fmt.Errorf("create pin: %w", err)
			}
			s.publish(ctx, tx, key, realtime.ProductPin, pinData{in.ProductID})
			return nil
		})
	})
}

// isPinned reports whether a pin would change nothing after the room's last one; nil if there is none.
func isPinned(last *db.ProductPin, in PinInput) bool {
	if last == nil {
		return in.ProductID == ""
	}
	return in.Since != nil && last.ProductID == in.ProductID && !last.PinnedAt.Before(*in.Since)
}

// checkPinner requires an existing room of a stream or session, and a user who may
// pin there.
func checkPinner(ctx context.Context, tx pgx.Tx, key channelKey, userID string) error {
	found, err := find(ctx, db.New(tx), key)
	if err == nil && found.Kind != Stream && found.Kind != Session {
		err = problem.Missing("room")
	}
	if err != nil || userID == "" {
		return err
	}
	all, err := userStatuses(ctx, db.New(tx), key, userID)
	if err != nil {
		return err
	}
	st := all[userID]
	if st.RoomRole != session.Host || st.outside() || st.Banned {
		return problem.New(problem.Forbidden, "forbidden", "only the host of this room may pin a product")
	}
	return nil
}

// LastPin returns a room's last pin; nil if there was none. Its product is empty if the host shows none any more.
func (s *Service) LastPin(ctx context.Context, tenantID, roomID string) (*db.ProductPin, error) {
	return lastPin(ctx, db.New(s.config.Pool), channelKey{tenantID, roomID})
}

func lastPin(ctx context.Context, q *db.Queries, key channelKey) (*db.ProductPin, error) {
	pin, err := q.LastPin(ctx, db.LastPinParams{TenantID: key.tenantID, RoomID: key.channelID})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no pin is not a fault
	}
	if err != nil {
		return nil, fmt.Errorf("get last pin: %w", err)
	}
	return &pin, nil
}

// ListPins returns a room's pins from since (inclusive) until before until, oldest
// first.
func (s *Service) ListPins(ctx context.Context, tenantID, roomID string, since, until time.Time) ([]db.ProductPin, error) {
	pins, err := db.New(s.config.Pool).ListPins(ctx, db.ListPinsParams{TenantID: tenantID, RoomID: roomID, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	return pins, nil
}
