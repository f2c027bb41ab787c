package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/push/apns"
	"showfloor/internal/outflow/push/fcm"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/quota"
)

const credentialsEntity = "push_credentials"

// iosContext and cloudContext bind an encrypted value to its row.
func iosContext(credentialsID string) string   { return "push_credentials/" + credentialsID + "/ios" }
func cloudContext(credentialsID string) string { return "push_credentials/" + credentialsID + "/cloud" }

// IosInput changes the credentials for iOS devices; nil fields keep their values.
type IosInput struct {
	Enabled                             bool
	TeamID, KeyID, BundleID, PrivateKey *string
	Production                          *bool
}

// CloudInput changes the credentials for Android devices and browsers.
type CloudInput struct {
	Enabled bool
	// Account is nil to keep the service account.
	Account *fcm.Account
	// TokenURI is the account's address for access tokens; "" for the provider's own.
	TokenURI string
}

// GetPushCredentials returns the status of a project's credentials; a row without values if there are none.
func (s *Service) GetPushCredentials(ctx context.Context, c tenancy.Caller, projectID string) (db.PushCredential, error) {
	row, err := db.New(s.config.Pool).GetPushCredentials(ctx, db.GetPushCredentialsParams{TenantID: c.TenantID, ProjectID: projectID})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return row, fmt.Errorf("get push credentials: %w", err)
	}
	return row, nil
}

// SetIosPushCredentials stores a signing key, encrypted. Enabling requires all fields, in this change or from before.
func (s *Service) SetIosPushCredentials(ctx context.Context, c tenancy.Caller, projectID string, in IosInput) (db.PushCredential, error) {
	if in.PrivateKey != nil {
		if _, err := apns.ParseKey([]byte(*in.PrivateKey)); err != nil {
			return db.PushCredential{}, problem.BadField("iosPushPrivateKey", "must be an EC P-256 private key in PEM, as in the .p8 file")
		}
	}
	return s.change(ctx, c, projectID, "ios", func(q *db.Queries, row db.PushCredential) (db.PushCredential, error) {
		p := db.SetIosPushCredentialsParams{
			TenantID: c.TenantID, ID: row.ID, Enabled: in.Enabled, TeamID: or(in.TeamID, row.IosTeamID), KeyID: or(in.KeyID, row.IosKeyID),
			BundleID: or(in.BundleID, row.IosBundleID), Key: row.IosKey, Production: *or(in.Production, &row.IosProduction), Now: s.config.Now(),
		}
		if in.PrivateKey != nil {
			p.Key = s.config.Box.Seal([]byte(*in.PrivateKey), iosContext(row.ID))
		}
		if faults := missingIos(p); in.Enabled && len(faults) > 0 {
			return row, problem.BadFields(faults)
		}
		return q.SetIosPushCredentials(ctx, p)
	})
}

// or returns the given value, or else the one from before.
func or[T any](given, before *T) *T {
	if given != nil {
		return given
	}
	return before
}

// missingIos lists the fields without which iOS devices can't be reached.
func missingIos(p db.SetIosPushCredentialsParams) (faults []problem.Field) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"iosPushTeamId", p.TeamID != nil}, {"iosPushKeyId", p.KeyID != nil}, {"iosPushBundleId", p.BundleID != nil},
		{"iosPushPrivateKey", p.Key != nil},
	} {
		if !f.set {
			faults = append(faults, problem.Field{Field: f.name, Message: "is required to enable iOS pushes"})
		}
	}
	return faults
}

// SetCloudPushCredentials stores a service account, encrypted. Enabling requires one, in this change or from before.
func (s *Service) SetCloudPushCredentials(
	ctx context.Context, c tenancy.Caller, projectID string, in CloudInput,
) (db.PushCredential, error) {
	var account []byte
	if in.Account != nil {
		if err := s.checkAccount(in); err != nil {
			return db.PushCredential{}, err
		}
		text, err := json.Marshal(in.Account) //nolint:gosec // it is encrypted below
		if err != nil {
			return db.PushCredential{}, fmt.Errorf("encode service account: %w", err)
		}
		account = text
	}
	return s.change(ctx, c, projectID, "cloud", func(q *db.Queries, row db.PushCredential) (db.PushCredential, error) {
		p := db.SetCloudPushCredentialsParams{
			TenantID: c.TenantID, ID: row.ID, Enabled: in.Enabled, CloudProjectID: row.CloudProjectID, Account: row.CloudAccount,
			Now: s.config.Now(),
		}
		if account != nil {
			p.CloudProjectID, p.Account = &in.Account.ProjectID, s.config.Box.Seal(account, cloudContext(row.ID))
		}
		if in.Enabled && p.Account == nil {
			return row, problem.BadField("cloudPushServiceAccount", "is required to enable pushes to Android devices and browsers")
		}
		return q.SetCloudPushCredentials(ctx, p)
	})
}

// checkAccount refuses a service account that can't be used. Its key goes to the address for access tokens as a signature only, but that
// address is a server that this one calls, so a tenant can't choose it.
func (s *Service) checkAccount(in CloudInput) error {
	if err := fcm.CheckKey(in.Account.PrivateKey); err != nil {
		return problem.BadField("cloudPushServiceAccount.private_key", "must be an RSA private key in PEM")
	}
	if in.TokenURI != "" && in.TokenURI != fcm.DefaultTokenURL && in.TokenURI != s.config.Addresses.FCMToken {
		return problem.BadField("cloudPushServiceAccount.token_uri", "must be the provider's own address")
	}
	return nil
}

// change locks the row of a project, which it creates if there is none, and changes it.
func (s *Service) change(
	ctx context.Context, c tenancy.Caller, projectID, what string, set func(q *db.Queries, row db.PushCredential) (db.PushCredential, error),
) (row db.PushCredential, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		credentialsID := id.New(id.PushCredentials)
		made, err := q.InsertPushCredentials(ctx, db.InsertPushCredentialsParams{
			ID: credentialsID, TenantID: c.TenantID, ProjectID: projectID, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create push credentials: %w", err)
		}
		if made > 0 {
			err := s.config.Quotas.CheckTx(ctx, tx, c.TenantID, quota.PushProjects, 0, func(ctx context.Context) (int64, error) {
				return q.CountPushCredentials(ctx, c.TenantID)
			})
			if err != nil {
				return err
			}
		}
		before, err := q.LockPushCredentials(ctx, db.LockPushCredentialsParams{TenantID: c.TenantID, ProjectID: projectID})
		if err != nil {
			return fmt.Errorf("lock push credentials: %w", err)
		}
		if row, err = set(q, before); err != nil {
			if _, known := problem.As(err); known {
				return err
			}
			return fmt.Errorf("set push credentials: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "push_credentials." + what, Entity: credentialsEntity, EntityID: projectID,
			Before: status(before), After: status(row),
		})
	})
	return row, err
}

// status is what the audit log shows of credentials.
func status(row db.PushCredential) map[string]any {
	return map[string]any{
		"iosPushEnabled": row.IosEnabled, "iosPushConfigured": IosConfigured(row), "iosPushBundleId": row.IosBundleID,
		"iosPushProduction": row.IosProduction, "cloudPushEnabled": row.CloudEnabled, "cloudPushProjectId": row.CloudProjectID,
	}
}

// IosConfigured reports whether all that iOS devices need is set.
func IosConfigured(row db.PushCredential) bool {
	return row.IosKey != nil && row.IosTeamID != nil && row.IosKeyID != nil && row.IosBundleID != nil
}
