package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/tenancy/usage"
)

// answered is a device with a provider's answer.
type answered struct {
	device db.PushDevice
	at     time.Time // when the push was sent
	answer provider.Answer
}

// Send sends a push to those devices of its user that wait for it. It returns the time of the next run, zero if there is none. jobID is the
// running job's, whose arguments Send updates: devices with a final answer get the push no second time, unless the process is killed
// between the answer and the update.
func (s *Service) Send(ctx context.Context, jobID int64, a Args) (again time.Time, err error) {
	now := s.config.Now()
	if a.ProjectID == nil || !now.Before(a.ExpiresAt.Time) {
		return again, nil
	}
	if a.Reason != RingingOver && a.Reason != CallMissed { // these take the ringing away
		if suspended, err := s.isSuspended(ctx, a.TenantID); err != nil || suspended {
			return again, err
		}
	}
	if a.Reason == Ringing { // a retry must not come after the push that ends the ringing
		if rings, err := s.config.Calls.IsRinging(ctx, a.TenantID, a.Data["sessionId"]); err != nil || !rings {
			return again, err
		}
	}
	by, err := s.sendersOf(ctx, a.TenantID, *a.ProjectID)
	if err != nil || len(by.platforms()) == 0 {
		return again, err
	}
	devices, err := s.waitingDevices(ctx, a, by)
	if err != nil || len(devices) == 0 {
		return again, err
	}
	answers := make([]answered, len(devices))
	var work sync.WaitGroup
	for i, d := range devices {
		work.Go(func() {
			answers[i] = answered{d, now, provider.Answer{Outcome: provider.Rejected, Reason: "the message can't be encoded"}}
			if m, err := encode(messageFor(a, d, now), now); err == nil {
				answers[i].answer = s.send(ctx, by, d, m)
			}
		})
	}
	work.Wait()
	if ctx.Err() != nil { // the server stops: what was sent is noted, and the rest is not a try
		return again, errors.Join(ctx.Err(), s.note(context.WithoutCancel(ctx), jobID, a, answers, false))
	}
	return s.next(ctx, jobID, a, answers)
}

// isSuspended reports whether a tenant is suspended: nothing new is pushed then.
func (s *Service) isSuspended(ctx context.Context, tenantID string) (bool, error) {
	suspended, err := db.New(s.config.Pool).IsPushTenantSuspended(ctx, tenantID)
	if err != nil {
		return false, fmt.Errorf("look at the tenant of a push: %w", err)
	}
	return suspended, nil
}

// waitingDevices returns the devices that a run of the job sends to.
func (s *Service) waitingDevices(ctx context.Context, a Args, by senders) (list []db.PushDevice, err error) {
	q := db.New(s.config.Pool)
	if a.Waiting != nil {
		list, err = q.ListPushDevices(ctx, db.ListPushDevicesParams{TenantID: a.TenantID, Ids: a.Waiting})
	} else {
		list, err = q.ListPushDevicesOfUser(ctx, db.ListPushDevicesOfUserParams{
			TenantID: a.TenantID, UserID: a.UserID, ProjectID: *a.ProjectID, Platforms: by.platforms(), MaxRows: 2 * maxUserDevices,
		})
		list = recipients(a, list)
	}
	if err != nil {
		return nil, fmt.Errorf("list push devices: %w", err)
	}
	reached := list[:0]
	for _, d := range list {
		if by.reaches(provider.Platform(d.Platform)) {
			reached = append(reached, d)
		}
	}
	return reached, nil
}

// next notes the answers, and returns the time of the next run.
func (s *Service) next(ctx context.Context, jobID int64, a Args, answers []answered) (again time.Time, err error) {
	var asked time.Duration
	for _, one := range answers {
		if one.answer.Again() {
			asked = max(asked, one.answer.RetryAfter)
		}
	}
	if err := s.note(ctx, jobID, a, answers, true); err != nil {
		return again, err
	}
	at := s.config.Now().Add(pauseAfter(a.Tries, asked))
	if a.Tries+1 >= maxTries || !at.Before(a.ExpiresAt.Time) || len(waitingOf(answers)) == 0 {
		return again, nil
	}
	return at, nil
}

func waitingOf(answers []answered) []int64 {
	list := []int64{}
	for _, one := range answers {
		if one.answer.Again() {
			list = append(list, one.device.ID)
		}
	}
	return list
}

// note writes the answers: stale devices, usage, and the devices that the job's next run sends to.
func (s *Service) note(ctx context.Context, jobID int64, a Args, answers []answered, tried bool) error {
	waiting := waitingOf(answers)
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if err := deactivateStale(ctx, db.New(tx), a.TenantID, answers); err != nil {
			return err
		}
		if err := s.recordUsage(ctx, tx, a.TenantID, *a.ProjectID, fmt.Sprintf("push %d", jobID), a.UserID, delivered(answers)); err != nil {
			return err
		}
		change := map[string]any{"waiting": waiting}
		if tried {
			change["tries"] = a.Tries + 1
		}
		text, err := json.Marshal(change)
		if err != nil {
			return fmt.Errorf("encode job arguments: %w", err)
		}
		_, err = tx.Exec(ctx, `UPDATE river_job SET args = args || $2::jsonb WHERE id = $1 AND state = 'running'`, jobID, string(text))
		if err != nil {
			return fmt.Errorf("update job arguments: %w", err)
		}
		return nil
	})
}

func delivered(answers []answered) (n int64) {
	for _, one := range answers {
		if one.answer.Outcome == provider.Delivered {
			n++
		}
	}
	return n
}

// deactivateStale makes devices inactive whose tokens are stale, unless they were registered again since.
func deactivateStale(ctx context.Context, q *db.Queries, tenantID string, answers []answered) error {
	p := db.DeactivateStalePushDevicesParams{TenantID: tenantID}
	for _, one := range answers {
		if one.answer.Outcome != provider.Stale {
			continue
		}
		since := one.answer.StaleSince
		if since.IsZero() || since.After(one.at) { // the provider's clock may be wrong
			since = one.at
		}
		p.Ids, p.Dates = append(p.Ids, one.device.ID), append(p.Dates, since)
	}
	if len(p.Ids) == 0 {
		return nil
	}
	if err := q.DeactivateStalePushDevices(ctx, p); err != nil {
		return fmt.Errorf("deactivate stale push devices: %w", err)
	}
	return nil
}

// recordUsage adds delivered pushes to the tenant's usage.
func (s *Service) recordUsage(ctx context.Context, tx pgx.Tx, tenantID, projectID, source, resourceID string, n int64) error {
	if n == 0 {
		return nil
	}
	now := s.config.Now()
	return s.config.Usage.RecordTx(ctx, tx, []usage.Interval{{
		Owner: usage.Owner{TenantID: tenantID, ProjectID: projectID}, Source: source, ResourceID: resourceID, Meter: usage.Pushes,
		From: now, To: now, Amount: n,
	}})
}
