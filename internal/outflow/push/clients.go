package push

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/outflow/push/apns"
	"showfloor/internal/outflow/push/fcm"
	"showfloor/internal/outflow/push/provider"
)

// maxClients is the number of credentials of each provider whose connections are kept open.
const maxClients = 200

// clients are the open clients of one provider by the hash of their credentials.
type clients[C interface{ Close() }] struct {
	now func() time.Time

	mu  sync.Mutex
	all map[[sha256.Size]byte]*kept[C]
}

type kept[C any] struct {
	client C
	usedAt time.Time
}

func newClients[C interface{ Close() }](now func() time.Time) *clients[C] {
	return &clients[C]{now: now, all: map[[sha256.Size]byte]*kept[C]{}}
}

// get returns the client of a key, made by create if there is none. It closes the one that was not used for the longest time if there are
// too many.
func (c *clients[C]) get(key [sha256.Size]byte, create func() (C, error)) (C, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, open := c.all[key]; open {
		k.usedAt = c.now()
		return k.client, nil
	}
	client, err := create()
	if err != nil {
		return client, err
	}
	if len(c.all) >= maxClients {
		c.closeOldest()
	}
	c.all[key] = &kept[C]{client, c.now()}
	return client, nil
}

func (c *clients[C]) closeOldest() {
	var oldest [sha256.Size]byte
	var at time.Time
	for key, k := range c.all {
		if at.IsZero() || k.usedAt.Before(at) {
			oldest, at = key, k.usedAt
		}
	}
	c.all[oldest].client.Close()
	delete(c.all, oldest)
}

// senders are the clients of a project; nil for a provider whose credentials are not enabled.
type senders struct {
	ios   *apns.Client
	cloud *fcm.Client
}

// platforms lists the platforms that can be reached.
func (s senders) platforms() (list []string) {
	if s.ios != nil {
		list = append(list, string(provider.IOS))
	}
	if s.cloud != nil {
		list = append(list, string(provider.Android), string(provider.Web))
	}
	return list
}

// reaches reports whether there is a client for a platform.
func (s senders) reaches(p provider.Platform) bool {
	if provider.Of(p) == provider.IOSPush {
		return s.ios != nil
	}
	return s.cloud != nil
}

// sendersOf returns the clients of a project. Credentials that can't be decrypted count as disabled.
func (s *Service) sendersOf(ctx context.Context, tenantID, projectID string) (senders, error) {
	row, err := db.New(s.config.Pool).GetPushCredentials(ctx, db.GetPushCredentialsParams{TenantID: tenantID, ProjectID: projectID})
	if errors.Is(err, pgx.ErrNoRows) {
		return senders{}, nil
	}
	if err != nil {
		return senders{}, fmt.Errorf("get push credentials: %w", err)
	}
	var out senders
	if row.IosEnabled {
		if out.ios, err = s.apnsClient(row); err != nil {
			s.config.Log.Error("push credentials can't be used", "credentials", row.ID, "provider", string(provider.IOSPush), "error", err)
		}
	}
	if row.CloudEnabled {
		if out.cloud, err = s.fcmClient(row); err != nil {
			s.config.Log.Error("push credentials can't be used", "credentials", row.ID, "provider", string(provider.CloudPush), "error", err)
		}
	}
	return out, nil
}

func (s *Service) apnsClient(row db.PushCredential) (*apns.Client, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%x %q %q %q %t", row.IosKey, *row.IosTeamID, *row.IosKeyID, *row.IosBundleID, row.IosProduction))
	return s.apns.get(key, func() (*apns.Client, error) {
		opened, err := s.config.Box.Open(row.IosKey, iosContext(row.ID))
		if err != nil {
			return nil, fmt.Errorf("open key: %w", err)
		}
		parsed, err := apns.ParseKey(opened)
		if err != nil {
			return nil, err
		}
		a := s.config.Addresses
		return apns.New(apns.Config{URL: a.APNS, Roots: a.Roots, Now: s.config.Now}, apns.Credential{
			TeamID: *row.IosTeamID, KeyID: *row.IosKeyID, BundleID: *row.IosBundleID, Key: parsed, Production: row.IosProduction,
		}), nil
	})
}

func (s *Service) fcmClient(row db.PushCredential) (*fcm.Client, error) {
	return s.fcm.get(sha256.Sum256(row.CloudAccount), func() (*fcm.Client, error) {
		opened, err := s.config.Box.Open(row.CloudAccount, cloudContext(row.ID))
		if err != nil {
			return nil, fmt.Errorf("open service account: %w", err)
		}
		a := s.config.Addresses
		return fcm.New(fcm.Config{URL: a.FCM, TokenURL: a.FCMToken, Roots: a.Roots, Now: s.config.Now}, opened)
	})
}

// outgoing is a message in the forms of the providers.
type outgoing struct {
	message      provider.Message
	ios          []byte
	android, web fcm.Encoded
}

// encode writes a message for the given devices.
func encode(m provider.Message, now time.Time) (out outgoing, err error) {
	out.message = m
	if out.ios, err = apns.Payload(m); err != nil {
		return out, err
	}
	if out.android, err = fcm.Encode(provider.Android, m, now); err != nil {
		return out, err
	}
	out.web, err = fcm.Encode(provider.Web, m, now)
	return out, err
}

// send sends a message to one device, whose platform is reached.
func (s *Service) send(ctx context.Context, by senders, d db.PushDevice, m outgoing) (a provider.Answer) {
	switch p := provider.Platform(d.Platform); p {
	case provider.IOS:
		a = by.ios.Send(ctx, apns.Target{Token: d.Token, VoIP: d.Kind == VoIP}, m.message, m.ios)
	case provider.Android:
		a = by.cloud.Send(ctx, d.Token, m.android)
	case provider.Web:
		a = by.cloud.Send(ctx, d.Token, m.web)
	}
	if ctx.Err() == nil {
		s.config.Observe(provider.Of(provider.Platform(d.Platform)), a.Outcome)
	}
	return a
}
