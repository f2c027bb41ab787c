package push

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

const (
	// notifiedFor is how long after its creation a notification expires.
	notifiedFor = 24 * time.Hour
	// batchSize is the number of devices of one job.
	batchSize = 500
	// maxBacklog is the number of waiting batches of a tenant above which it can't notify.
	maxBacklog = 1_000_000 / batchSize
	// answerWithin is how long NotifyUsers waits for the providers.
	answerWithin = 25 * time.Second
	// countEvery is how often it counts answers that other nodes may have stored.
	countEvery = 500 * time.Millisecond
)

// Notice is a message to users; the handler has checked its limits.
type Notice struct {
	ProjectID   string
	UserIDs     []string
	Title, Body string
	Data        map[string]string
}

// Result counts the devices of a notification.
type Result struct {
	NotificationID                string
	Attempted, Delivered, Pending int64
}

// NotifyUsers stores a notification with the jobs that send it, and waits for the providers' answers, 25 s at most.
func (s *Service) NotifyUsers(ctx context.Context, c tenancy.Caller, in Notice) (Result, error) {
	if err := checkMessage(provider.Message{Kind: provider.Alert, Title: in.Title, Body: in.Body, Data: in.Data}); err != nil {
		return Result{}, err
	}
	if err := s.config.Usage.CheckAllowance(ctx, c.TenantID, usage.Pushes); err != nil {
		return Result{}, err
	}
	by, err := s.sendersOf(ctx, c.TenantID, in.ProjectID)
	if err != nil {
		return Result{}, err
	}
	result := Result{NotificationID: id.New(id.Notification)}
	woken, stop := s.progress.wait(result.NotificationID)
	defer stop()
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		result.Attempted, err = s.createTx(ctx, tx, c, in, by.platforms(), result.NotificationID)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return s.await(ctx, c.TenantID, result, woken)
}

// createTx stores the notification, its batches and their jobs. It returns the number of devices.
func (s *Service) createTx(
	ctx context.Context, tx pgx.Tx, c tenancy.Caller, in Notice, platforms []string, notificationID string,
) (int64, error) {
	q, now := db.New(tx), s.config.Now()
	users := slices.Compact(slices.Sorted(slices.Values(in.UserIDs)))
	var devices []int64
	if len(platforms) > 0 {
		var err error
		devices, err = q.ListActivePushDevices(ctx, db.ListActivePushDevicesParams{
			TenantID: c.TenantID, UserIds: users, ProjectID: in.ProjectID, Platforms: platforms,
		})
		if err != nil {
			return 0, fmt.Errorf("list push devices: %w", err)
		}
	}
	backlog, err := q.CountWaitingPushBatches(ctx, c.TenantID)
	if err != nil {
		return 0, fmt.Errorf("count waiting push batches: %w", err)
	}
	if backlog >= maxBacklog {
		return 0, problem.Limited(time.Minute, "%d batches of earlier notifications wait; try again in 60 seconds", backlog)
	}
	if in.Data == nil {
		in.Data = map[string]string{}
	}
	data, err := json.Marshal(in.Data)
	if err != nil {
		return 0, fmt.Errorf("encode data: %w", err)
	}
	err = q.CreatePushNotification(ctx, db.CreatePushNotificationParams{
		ID: notificationID, TenantID: c.TenantID, ProjectID: in.ProjectID, Title: in.Title, Body: in.Body, Data: data,
		Users: int32(len(users)), Attempted: int32(len(devices)), Now: now, ExpiresAt: now.Add(notifiedFor),
	})
	if err != nil {
		return 0, fmt.Errorf("create notification: %w", err)
	}
	var jobs []river.InsertManyParams
	for part := range slices.Chunk(devices, batchSize) {
		batchID, err := q.CreatePushBatch(ctx, db.CreatePushBatchParams{
			TenantID: c.TenantID, NotificationID: notificationID, Waiting: part, Now: now,
		})
		if err != nil {
			return 0, fmt.Errorf("create push batch: %w", err)
		}
		jobs = append(jobs, river.InsertManyParams{
			Args: BatchArgs{TenantID: c.TenantID, BatchID: batchID}, InsertOpts: &river.InsertOpts{Priority: turnOf(backlog + int64(len(jobs)))},
		})
	}
	if len(jobs) > 0 {
		if _, err := s.config.Jobs.InsertManyTx(ctx, tx, jobs); err != nil {
			return 0, fmt.Errorf("insert jobs of a notification: %w", err)
		}
	}
	return int64(len(devices)), nil
}

// turnOf returns the queue's priority, 1 to 4, of a batch that waits behind others of its tenant. So the batches of a tenant with few
// devices are sent before most of those of a tenant with many.
func turnOf(before int64) int {
	switch {
	case before < 4:
		return 1
	case before < 20:
		return 2
	case before < 100:
		return 3
	default:
		return 4
	}
}

// await waits for the final answers.
func (s *Service) await(ctx context.Context, tenantID string, r Result, woken <-chan struct{}) (Result, error) {
	r.Pending = r.Attempted
	if r.Attempted == 0 {
		return r, nil
	}
	late, tick := time.NewTimer(answerWithin), time.NewTicker(countEvery)
	defer late.Stop()
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-woken:
		case <-tick.C:
		case <-late.C:
			last = true
		case <-ctx.Done():
			return r, ctx.Err()
		}
		p := db.CountPushAnswersParams{TenantID: tenantID, NotificationID: r.NotificationID}
		counts, err := db.New(s.config.Pool).CountPushAnswers(ctx, p)
		if err != nil {
			return r, fmt.Errorf("count answers: %w", err)
		}
		r.Pending, r.Delivered = counts.Waiting, counts.Delivered
		if r.Pending == 0 {
			break
		}
	}
	return r, nil
}

// ListPushNotifications pages through the tenant's notifications, newest first. cursor is the id after which the page starts.
func (s *Service) ListPushNotifications(
	ctx context.Context, c tenancy.Caller, cursor *string, limit int,
) ([]db.ListPushNotificationsRow, error) {
	rows, err := db.New(s.config.Pool).ListPushNotifications(ctx, db.ListPushNotificationsParams{
		TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list notifications: %w", err)
	}
	return rows, nil
}
