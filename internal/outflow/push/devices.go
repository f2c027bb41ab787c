package push

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/quota"
)

// Kinds of devices.
const (
	// Alert receives messages, and calls if the user has no VoIP device.
	Alert = "alert"
	// VoIP receives calls only, through PushKit.
	VoIP = "voip"
)

// maxUserDevices is the maximum number of a user's devices.
const maxUserDevices = 50

// DeviceInput describes a device; the handler has checked its limits.
type DeviceInput struct {
	UserID, ProjectID, Platform, Kind, Token string
	AppVersion, OSVersion, Locale            *string
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// RegisterPushDevice stores a device, or updates the one with the token, and makes it active.
func (s *Service) RegisterPushDevice(ctx context.Context, c tenancy.Caller, in DeviceInput) (device db.PushDevice, err error) {
	if in.Kind == VoIP && in.Platform != string(provider.IOS) {
		return device, problem.BadField("kind", "voip requires the platform ios")
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.RegisterPushDevice(ctx, db.RegisterPushDeviceParams{
			TenantID: c.TenantID, ProjectID: in.ProjectID, UserID: in.UserID, Platform: in.Platform, Kind: in.Kind, Token: in.Token,
			TokenHash: hashOf(in.Token), AppVersion: in.AppVersion, OsVersion: in.OSVersion, Locale: in.Locale, Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("register push device: %w", err)
		}
		device = row.PushDevice
		if row.Made {
			err := s.config.Quotas.CheckTx(ctx, tx, c.TenantID, quota.PushDevices, 0, func(ctx context.Context) (int64, error) {
				return q.CountPushDevices(ctx, c.TenantID)
			})
			if err != nil {
				return err
			}
		}
		err = q.DeleteSurplusPushDevices(ctx, db.DeleteSurplusPushDevicesParams{TenantID: c.TenantID, UserID: in.UserID, Kept: maxUserDevices})
		if err != nil {
			return fmt.Errorf("delete surplus push devices: %w", err)
		}
		return nil
	})
	return device, err
}

// DeactivatePushDevice stops pushes to a device. Repeating it has no effect.
func (s *Service) DeactivatePushDevice(ctx context.Context, c tenancy.Caller, token string) (device db.PushDevice, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		device, err = db.New(tx).DeactivatePushDevice(ctx, db.DeactivatePushDeviceParams{TenantID: c.TenantID, TokenHash: hashOf(token)})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("device")
		}
		if err != nil {
			return fmt.Errorf("deactivate push device: %w", err)
		}
		return nil
	})
	return device, err
}
