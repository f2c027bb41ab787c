package push

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/tenancy"
)

// Trial is the result of a test message.
type Trial struct {
	Provider provider.Name
	Answer   provider.Answer
}

// TestPushCredentials sends a message to a registered device of a project, and changes nothing.
func (s *Service) TestPushCredentials(ctx context.Context, c tenancy.Caller, projectID, token string) (Trial, error) {
	d, err := db.New(s.config.Pool).FindPushDevice(ctx, db.FindPushDeviceParams{TenantID: c.TenantID, TokenHash: hashOf(token)})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && d.ProjectID != projectID {
		return Trial{}, problem.Missing("device")
	}
	if err != nil {
		return Trial{}, fmt.Errorf("find push device: %w", err)
	}
	by, err := s.sendersOf(ctx, c.TenantID, projectID)
	if err != nil {
		return Trial{}, err
	}
	p := provider.Platform(d.Platform)
	if !by.reaches(p) {
		return Trial{}, problem.Conflicting("the project has no enabled credentials for the platform %s", d.Platform)
	}
	now, text := s.config.Now(), textsFor(d.Locale)
	m, err := encode(provider.Message{
		Kind: provider.Alert, Title: text.testTitle, Body: text.testBody, High: true, ExpiresAt: now.Add(provider.Timeout),
		Data: map[string]string{"service": "1", "type": "push.test"},
	}, now)
	if err != nil {
		return Trial{}, err
	}
	return Trial{provider.Of(p), s.send(ctx, by, d, m)}, nil
}
