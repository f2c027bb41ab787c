package chat

import (
	"context"
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

// PinProduct pins a product in a stream's or session's room, as userID, who must
// be a host there. An empty userID stands for the tenant's own server.
func (s *Service) PinProduct(ctx context.Context, tenantID, roomID, userID, productID string) error {
	key := channelKey{tenantID, roomID}
	return s.inOrder(ctx, key, func(ctx context.Context) error {
		return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
			if err := checkPinner(ctx, tx, key, userID); err != nil {
				return err
			}
			if err := s.config.Products.CheckActiveTx(ctx, tx, tenantID, productID); err != nil {
				return err
			}
			err := db.New(tx).CreatePin(ctx, db.CreatePinParams{
				ID: id.New(id.Pin), TenantID: tenantID, RoomID: roomID, ProductID: productID, PinnedBy: userID, Now: s.config.Now(),
			})
			if err != nil {
				return fmt.Errorf("create pin: %w", err)
			}
			s.publish(ctx, tx, key, realtime.ProductPin, pinData{productID})
			return nil
		})
	})
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

// ListPins returns a room's pins from since (inclusive) until before until, oldest
// first.
func (s *Service) ListPins(ctx context.Context, tenantID, roomID string, since, until time.Time) ([]db.ProductPin, error) {
	pins, err := db.New(s.config.Pool).ListPins(ctx, db.ListPinsParams{TenantID: tenantID, RoomID: roomID, Since: since, Until: until})
	if err != nil {
		return nil, fmt.Errorf("list pins: %w", err)
	}
	return pins, nil
}
