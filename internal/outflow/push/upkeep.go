package push

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/secret"
)

// keepDevices is how long a device is kept that isn't registered again, and keepNotifications how long a notification is kept.
const keepDevices, keepNotifications = 365 * 24 * time.Hour, 30 * 24 * time.Hour

// DeleteOld deletes pushes that have expired and are not being sent, devices not seen for a year, and notifications after 30 days.
func (s *Service) DeleteOld(ctx context.Context) error {
	err := postgres.DeleteInBatches(ctx, "pushes", func(maxRows int32) (int64, error) {
		tag, err := s.config.Pool.Exec(ctx, `
			DELETE FROM river_job WHERE id = ANY (ARRAY(
				SELECT id FROM river_job WHERE queue IN ($1, $2) AND state IN ('available', 'pending', 'retryable', 'scheduled')
				AND (args ->> 'expiresAt')::timestamptz < $3 ORDER BY id LIMIT $4))`, Queue, MessageQueue, s.config.Now(), maxRows)
		if err != nil {
			return 0, fmt.Errorf("delete jobs: %w", err)
		}
		return tag.RowsAffected(), nil
	})
	if err != nil {
		return err
	}
	q, now := db.New(s.config.Pool), s.config.Now()
	err = postgres.DeleteInBatches(ctx, "push devices", func(maxRows int32) (int64, error) {
		return q.DeletePushDevicesBefore(ctx, db.DeletePushDevicesBeforeParams{Before: now.Add(-keepDevices), MaxRows: maxRows})
	})
	if err != nil {
		return err
	}
	return postgres.DeleteInBatches(ctx, "notifications", func(maxRows int32) (int64, error) {
		return q.DeletePushNotificationsBefore(ctx, db.DeletePushNotificationsBeforeParams{Before: now.Add(-keepNotifications), MaxRows: maxRows})
	})
}

// Reseal encrypts credentials with the box's first master key; see secret.Resealing.
func Reseal(ctx context.Context, pool *pgxpool.Pool, box *secret.Box, progress func(rows int)) (secret.Resealed, error) {
	q := db.New(pool)
	return secret.Resealing[db.PushCredential]{
		Table: "push credentials",
		List: func(ctx context.Context, after string) ([]db.PushCredential, error) {
			return q.ListPushCredentialsToReseal(ctx, db.ListPushCredentialsToResealParams{
				After: after, Header: box.Header(), MaxRows: secret.ResealBatch,
			})
		},
		Key: func(row db.PushCredential) string { return row.ID },
		Replace: func(ctx context.Context, row db.PushCredential) error {
			key, err := box.ResealValue(row.IosKey, iosContext(row.ID))
			if err != nil {
				return err
			}
			account, err := box.ResealValue(row.CloudAccount, cloudContext(row.ID))
			if err != nil {
				return err
			}
			return q.ResealPushCredentials(ctx, db.ResealPushCredentialsParams{
				ID: row.ID, IosKey: key, CloudAccount: account, IosKeyBefore: row.IosKey, CloudAccountBefore: row.CloudAccount,
			})
		},
	}.Run(ctx, progress)
}
