package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/push/provider"
)

const (
	// notifyWorkers is how many batches a process sends at a time. A tenant alone leaves reservedWorkers of them to others.
	notifyWorkers, reservedWorkers = 16, 4
	// batchSenders is how many devices of a batch are sent to at a time. All batches together stay below provider.MaxInFlight, so that calls
	// with the same credentials never wait for them.
	batchSenders = 24
	// placeWithin is how long a batch waits for its tenant's place, and placePause when it tries again.
	placeWithin, placePause = 200 * time.Millisecond, 300 * time.Millisecond
	// noteEvery is the least number of answers that are stored together, and noteWithin how long the first one of them waits.
	noteEvery, noteWithin = 100, 500 * time.Millisecond
	// maxPart is the maximum number of answers that are stored together.
	maxPart = 250
	// suspendedPause is the pause of the batches of a suspended tenant.
	suspendedPause = time.Minute
	// maxSilence is the number of pushes in a row without an answer after which a batch waits for its next run.
	maxSilence = batchSenders
)

// batch is a run of one batch.
type batch struct {
	s            *Service
	row          db.PushBatch
	notification db.PushNotification
	by           senders
	message      outgoing
	// faulty are the providers that refused the credentials in this run: the other devices are not sent to.
	faulty sync.Map
	// silence counts the pushes in a row without an answer of each provider.
	silence map[provider.Name]*atomic.Int32
	// left is the number of devices that wait, as stored.
	left int
}

// SendBatch sends a notification to those devices of a batch that wait for it. It returns the time of the next run, zero if there is none.
// Answers are stored in parts of 100 or more, while others are sent: if the process is killed, devices whose answers were not stored yet
// get the message again, at most those of this batch, and it replaces the first one on the device.
func (s *Service) SendBatch(ctx context.Context, a BatchArgs) (again time.Time, err error) {
	if !s.takePlace(ctx, a.TenantID) {
		return s.config.Now().Add(placePause), ctx.Err()
	}
	defer s.leavePlace(a.TenantID)
	found, err := db.New(s.config.Pool).GetPushBatch(ctx, a.BatchID)
	if errors.Is(err, pgx.ErrNoRows) {
		return again, nil
	}
	if err != nil {
		return again, fmt.Errorf("get push batch: %w", err)
	}
	b := &batch{s: s, row: found.PushBatch, notification: found.PushNotification, left: len(found.PushBatch.Waiting)}
	b.silence = map[provider.Name]*atomic.Int32{provider.IOSPush: {}, provider.CloudPush: {}}
	now := s.config.Now()
	switch {
	case b.row.NextAt == nil:
		return again, nil
	case b.row.NextAt.After(now) && b.row.Tries > 0:
		return *b.row.NextAt, nil
	case !now.Before(b.notification.ExpiresAt):
		return again, b.note(ctx, nil, closing{ids: b.row.Waiting, expired: true})
	}
	if suspended, err := s.isSuspended(ctx, a.TenantID); err != nil || suspended {
		return now.Add(suspendedPause), err
	}
	return b.run(ctx, now)
}

// takePlace waits a moment for a place of a tenant.
func (s *Service) takePlace(ctx context.Context, tenantID string) bool {
	late := time.NewTimer(placeWithin)
	defer late.Stop()
	for !s.places.Take(tenantID) {
		select {
		case <-s.freed:
		case <-late.C:
			return s.places.Take(tenantID)
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (s *Service) leavePlace(tenantID string) {
	s.places.Release(tenantID)
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// run sends to the devices, and stores the answers.
func (b *batch) run(ctx context.Context, now time.Time) (again time.Time, err error) {
	devices, err := b.prepare(ctx, now)
	if err != nil {
		return again, err
	}
	answers := make(chan answered, len(devices)) // sending doesn't wait for the storage
	sending, stop := context.WithCancel(ctx)
	defer stop()
	go b.send(sending, devices, answers)
	// Answers are stored also when the server stops.
	retry, err := b.collect(context.WithoutCancel(ctx), answers)
	if err != nil {
		stop()
		for range answers { // the senders end
		}
		return again, err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && b.left > 0 { // this run was a try
		return b.postpone(context.WithoutCancel(ctx), retry)
	}
	if ctx.Err() != nil {
		return again, ctx.Err()
	}
	if b.left == 0 {
		return again, nil
	}
	return b.postpone(ctx, retry)
}

// prepare returns the devices that are sent to. It stores the outcome of the others.
func (b *batch) prepare(ctx context.Context, now time.Time) ([]db.PushDevice, error) {
	n := b.notification
	var err error
	if b.by, err = b.s.sendersOf(ctx, n.TenantID, n.ProjectID); err != nil {
		return nil, err
	}
	m := provider.Message{Kind: provider.Alert, Title: n.Title, Body: n.Body, High: true, ExpiresAt: n.ExpiresAt, CollapseID: n.ID}
	if err := json.Unmarshal(n.Data, &m.Data); err != nil {
		return nil, fmt.Errorf("decode data: %w", err)
	}
	if b.message, err = encode(m, now); err != nil {
		return nil, err
	}
	devices, err := db.New(b.s.config.Pool).ListPushDevices(ctx, db.ListPushDevicesParams{TenantID: n.TenantID, Ids: b.row.Waiting})
	if err != nil {
		return nil, fmt.Errorf("list push devices: %w", err)
	}
	active := make(map[int64]bool, len(devices))
	for _, d := range devices {
		active[d.ID] = true
	}
	var gone []int64
	for _, deviceID := range b.row.Waiting {
		if !active[deviceID] {
			gone = append(gone, deviceID)
		}
	}
	if len(gone) == 0 {
		return devices, nil
	}
	return devices, b.note(ctx, nil, closing{ids: gone})
}

// send sends to all devices and closes the channel. It ends early with ctx, and leaves out devices of a provider that is silent.
func (b *batch) send(ctx context.Context, devices []db.PushDevice, answers chan<- answered) {
	defer close(answers)
	var at atomic.Int64
	var work sync.WaitGroup
	for range min(batchSenders, len(devices)) {
		work.Go(func() {
			for ctx.Err() == nil {
				i := int(at.Add(1)) - 1
				if i >= len(devices) {
					return
				}
				if b.silence[provider.Of(provider.Platform(devices[i].Platform))].Load() >= maxSilence {
					continue
				}
				one := answered{device: devices[i], at: b.s.config.Now()}
				one.answer = b.sendOne(ctx, one.device)
				if ctx.Err() != nil && one.answer.Outcome == provider.Unreachable {
					return
				}
				answers <- one
			}
		})
	}
	work.Wait()
}

func (b *batch) sendOne(ctx context.Context, d db.PushDevice) provider.Answer {
	name := provider.Of(provider.Platform(d.Platform))
	if !b.by.reaches(provider.Platform(d.Platform)) {
		return provider.Answer{Outcome: provider.CredentialFault, Reason: "the credentials were disabled"}
	}
	if fault, known := b.faulty.Load(name); known {
		if a, isAnswer := fault.(provider.Answer); isAnswer {
			return a
		}
	}
	a := b.s.send(ctx, b.by, d, b.message)
	switch a.Outcome {
	case provider.CredentialFault:
		b.faulty.Store(name, a)
	case provider.Unreachable:
		b.silence[name].Add(1)
		return a
	case provider.Delivered, provider.Stale, provider.Throttled, provider.Rejected:
	}
	b.silence[name].Store(0)
	return a
}

// collect stores the final answers in parts, and returns those after which the device is tried again.
func (b *batch) collect(ctx context.Context, answers <-chan answered) (retry []answered, err error) {
	var part []answered
	tick := time.NewTicker(noteWithin)
	defer tick.Stop()
	for open := true; open; {
		due := false
		select {
		case one, more := <-answers:
			switch {
			case !more:
				open, due = false, true
			case one.answer.Again():
				retry = append(retry, one)
			default:
				part = append(part, one)
				due = len(part) >= noteEvery && len(answers) == 0 || len(part) >= maxPart
			}
		case <-tick.C:
			due = true
		}
		if due && len(part) > 0 {
			if err := b.note(ctx, part, closing{}); err != nil {
				return retry, err
			}
			part = nil
		}
	}
	return retry, nil
}

// postpone plans the next run. After the last one, the outcome of the devices that still wait is that of their last try.
func (b *batch) postpone(ctx context.Context, retry []answered) (again time.Time, err error) {
	if int(b.row.Tries)+1 >= maxTries {
		return again, b.closeRest(ctx, retry)
	}
	var asked time.Duration
	var reason *string
	for _, one := range retry {
		asked, reason = max(asked, one.answer.RetryAfter), new(one.answer.Words())
	}
	again = b.s.config.Now().Add(pauseAfter(int(b.row.Tries), asked))
	err = db.New(b.s.config.Pool).PostponePushBatch(ctx, db.PostponePushBatchParams{
		TenantID: b.row.TenantID, ID: b.row.ID, NextAt: again, LastError: reason,
	})
	if err != nil {
		return again, fmt.Errorf("postpone push batch: %w", err)
	}
	return again, nil
}

// closeRest stores the last answers as final ones. Devices that were not sent to count as unreachable: the provider was silent.
func (b *batch) closeRest(ctx context.Context, retry []answered) error {
	if err := b.note(ctx, retry, closing{}); err != nil || b.left == 0 {
		return err
	}
	found, err := db.New(b.s.config.Pool).GetPushBatch(ctx, b.row.ID)
	if err != nil {
		return fmt.Errorf("get push batch: %w", err)
	}
	return b.note(ctx, nil, closing{ids: found.PushBatch.Waiting, silent: true})
}

// closing are devices whose outcome is known without an answer: unreachable, expired, or otherwise stale because they are inactive.
type closing struct {
	ids             []int64
	silent, expired bool
}

// note stores final answers: the counts, stale devices, and usage.
func (b *batch) note(ctx context.Context, answers []answered, c closing) error {
	p := db.NotePushAnswersParams{TenantID: b.row.TenantID, ID: b.row.ID, Answered: append([]int64{}, c.ids...)}
	switch n := int32(len(c.ids)); {
	case c.expired:
		p.Expired = n
	case c.silent:
		p.Unreachable = n
	default:
		p.Stale = n
	}
	for _, one := range answers {
		p.Answered = append(p.Answered, one.device.ID)
		if count(&p, one.answer.Outcome); one.answer.Outcome != provider.Delivered {
			p.LastError = new(one.answer.Words())
		}
	}
	if len(p.Answered) == 0 {
		return nil
	}
	err := postgres.InTx(ctx, b.s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		left, err := q.NotePushAnswers(ctx, p)
		if err != nil { // also if another run of the job has stored them: this one ends, and the next one reads what waits
			return fmt.Errorf("store answers of a push batch: %w", err)
		}
		b.left = int(left)
		if err := deactivateStale(ctx, q, b.row.TenantID, answers); err != nil {
			return err
		}
		source := fmt.Sprintf("push batch %d, %d left", b.row.ID, left)
		return b.s.recordUsage(ctx, tx, b.row.TenantID, b.notification.ProjectID, source, b.notification.ID, int64(p.Delivered))
	})
	if err == nil {
		b.s.progress.note(b.notification.ID)
	}
	return err
}

// count adds one answer.
func count(p *db.NotePushAnswersParams, o provider.Outcome) {
	switch o {
	case provider.Delivered:
		p.Delivered++
	case provider.Stale:
		p.Stale++
	case provider.Throttled:
		p.Throttled++
	case provider.CredentialFault:
		p.CredentialFaults++
	case provider.Rejected:
		p.Rejected++
	case provider.Unreachable:
		p.Unreachable++
	}
}
