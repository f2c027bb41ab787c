// Package jobs lists every worker and periodic job of the server. A worker makes one call to an area.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"showfloor/internal/areas"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/order"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/speech"
	"showfloor/internal/rooms/summary"
	"showfloor/internal/tenancy/mail"
)

// defaultWorkers is how many jobs of the default queue run at a time.
const defaultWorkers = 16

// Intervals of the periodic jobs.
const (
	retentionEvery = 5 * time.Minute // old rows
	overdueEvery   = 5 * time.Minute // late deliveries
	rotationEvery  = time.Hour       // old signing keys
	sumsEvery      = 5 * time.Minute // sums of closed hours
	storageEvery   = 5 * time.Minute // bytes of recordings
	// thresholdsEvery is the interval of the comparison of usage with what plans include.
	thresholdsEvery = 5 * time.Minute
)

// Config of the workers.
type Config struct {
	Pool  *pgxpool.Pool
	Areas *areas.Areas
	// Node names this process. No other process may use the name.
	Node string
	// Now is the database's time, as postgres.Clock returns it; time.Now by default.
	Now func() time.Time
	Log *slog.Logger
}

// Client runs the jobs of the queue, and beside them the fan-out of events into deliveries.
type Client struct {
	*river.Client[pgx.Tx]

	webhooks *webhook.Service
	alarm    *alarm
	stop     context.CancelFunc
	beside   sync.WaitGroup // the fan-out and the alarm
}

// New returns the client. The caller starts and stops it.
func New(c Config) (*Client, error) {
	config := c.River()
	alarm := &alarm{
		pool: c.Pool, queues: slices.Collect(maps.Keys(config.Queues)), now: config.Test.Time.Now, log: c.Log,
		inserted: c.Areas.Inserter.Inserted(), postponed: make(chan struct{}, 1),
	}
	config.Middleware = append(config.Middleware, river.WorkerMiddlewareFunc(alarm.watch), river.WorkerMiddlewareFunc(cleanErrors))
	client, err := river.NewClient(riverpgxv5.New(c.Pool), config)
	if err != nil {
		return nil, fmt.Errorf("make job client: %w", err)
	}
	alarm.node = client.ID()
	return &Client{Client: client, webhooks: c.Areas.Webhooks, alarm: alarm, stop: func() {}}, nil
}

// Start starts the client. It runs until Stop or StopAndCancel, or until ctx ends.
func (c *Client) Start(ctx context.Context) error {
	if err := c.Client.Start(ctx); err != nil {
		return fmt.Errorf("start job client: %w", err)
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.beside.Go(func() { c.webhooks.RunFanOut(ctx) })
	c.beside.Go(func() { c.alarm.run(ctx) })
	return nil
}

// Stop stops the fan-out and the alarm, and then waits for the running jobs.
func (c *Client) Stop(ctx context.Context) error {
	c.stop()
	c.beside.Wait()
	return c.Client.Stop(ctx)
}

// StopAndCancel stops the fan-out and the alarm, and cancels the running jobs.
func (c *Client) StopAndCancel(ctx context.Context) error {
	c.stop()
	c.beside.Wait()
	return c.Client.StopAndCancel(ctx)
}

// River returns the configuration of the queue: all workers, queues and periodic jobs.
func (c Config) River() *river.Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	config := queue.Config(c.Log)
	config.ID, config.Workers = c.Node, c.workers()
	// River documents this setting as one for tests, but it is the way to give the client another clock. The
	// alternative is the driver's interface, which may change with each version.
	config.Test.Time = riverTime{clock{c.Now}}
	config.Queues = map[string]river.QueueConfig{
		river.QueueDefault:   {MaxWorkers: defaultWorkers},
		webhook.Queue:        {MaxWorkers: webhook.Workers},
		mail.Queue:           {MaxWorkers: mail.Workers},
		order.Queue:          {MaxWorkers: order.Workers},
		processor.Queue:      {MaxWorkers: processor.Workers},
		retentionQueue:       {MaxWorkers: 1},
		session.SummaryQueue: {MaxWorkers: summary.Workers},
	}
	if c.Areas.Speech != nil && c.Areas.Speech.Works() { // utterances of other nodes wait for a node with a model
		config.Queues[speech.Queue] = river.QueueConfig{MaxWorkers: c.Areas.Speech.Workers()}
	}
	if c.Areas.Pushes != nil {
		for name, workers := range c.Areas.Pushes.Queues() {
			config.Queues[name] = river.QueueConfig{MaxWorkers: workers}
		}
	}
	if c.Areas.Recordings != nil {
		for name, workers := range c.Areas.Recordings.Queues() {
			config.Queues[name] = river.QueueConfig{MaxWorkers: workers}
		}
	}
	if c.Areas.MediaJobs != nil {
		for name, workers := range c.Areas.MediaJobs.Queues() {
			config.Queues[name] = river.QueueConfig{MaxWorkers: workers}
		}
	}
	config.PeriodicJobs = []*river.PeriodicJob{
		upkeepJob(),
		every(overdueEvery, EnqueueOverdueArgs{}),
		every(rotationEvery, RotateKeysArgs{}),
		every(storageEvery, MeasureStorageArgs{}),
		every(thresholdsEvery, NotifyThresholdsArgs{}),
	}
	config.PeriodicJobs = slices.Concat(config.PeriodicJobs, sumJobs(), retentionJobs(c.Areas.Keepers()))
	config.FetchCooldown, config.FetchPollInterval = 10*time.Millisecond, pollEvery
	config.RescueStuckJobsAfter = never
	config.ReindexerIndexNames = slices.DeleteFunc(river.ReindexerIndexNamesDefault(), func(index string) bool {
		return index == "river_job_args_index" || index == "river_job_metadata_index" // postgres.Migrate drops them
	})
	config.JobTimeout, config.SoftStopTimeout = time.Minute, 2*time.Second
	return config
}

// workers registers a worker for each kind of job.
func (c Config) workers() *river.Workers {
	clock := clock{c.Now}
	workers := river.NewWorkers()
	river.AddWorker(workers, &deliver{webhooks: c.Areas.Webhooks, clock: clock})
	river.AddWorker(workers, &deliverBatch{webhooks: c.Areas.Webhooks, clock: clock})
	river.AddWorker(workers, &redeliver{webhooks: c.Areas.Webhooks, clock: clock})
	river.AddWorker(workers, &restart{webhooks: c.Areas.Webhooks, clock: clock})
	river.AddWorker(workers, &enqueueOverdue{webhooks: c.Areas.Webhooks})
	river.AddWorker(workers, &expireReconnect{streams: c.Areas.Streams, clock: clock})
	river.AddWorker(workers, &disconnect{streams: c.Areas.Streams})
	river.AddWorker(workers, &closeDueBreakouts{sessions: c.Areas.Sessions})
	river.AddWorker(workers, &summarize{summaries: c.Areas.Summaries, clock: clock})
	river.AddWorker(workers, &recognize{speech: c.Areas.Speech, clock: clock})
	river.AddWorker(workers, &mailAnnouncement{announcements: c.Areas.Announcements})
	river.AddWorker(workers, &rotateKeys{keys: c.Areas.Keys})
	river.AddWorker(workers, &sendMail{mails: c.Areas.Mails, clock: clock})
	river.AddWorker(workers, &sendPush{pushes: c.Areas.Pushes, clock: clock})
	river.AddWorker(workers, &sendPushBatch{pushes: c.Areas.Pushes, clock: clock})
	river.AddWorker(workers, &mailCodeAgain{accounts: c.Areas.Accounts})
	river.AddWorker(workers, &mailPasswordLink{accounts: c.Areas.Accounts})
	river.AddWorker(workers, &checkOrder{orders: c.Areas.Orders, clock: clock})
	river.AddWorker(workers, &handleProcessorEvent{billing: c.Areas.Billing, clock: clock})
	river.AddWorker(workers, &syncBilling{subscriptions: c.Areas.Subscriptions})
	river.AddWorker(workers, &chargeOverage{overage: c.Areas.Overage})
	river.AddWorker(workers, &cancelDuplicate{subscriptions: c.Areas.Subscriptions})
	river.AddWorker(workers, &finishRefund{orders: c.Areas.Orders, clock: clock})
	river.AddWorker(workers, &cachePrice{products: c.Areas.Catalog})
	river.AddWorker(workers, &settleAuction{auctions: c.Areas.Auctions})
	river.AddWorker(workers, &missCall{calls: c.Areas.Calls})
	river.AddWorker(workers, &retention{keepers: c.Areas.Keepers(), clock: clock, log: c.Log})
	river.AddWorker(workers, &finalizeRecording{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &notifyOutsideRecorder{recordings: c.Areas.Recordings, clock: clock})
	river.AddWorker(workers, &importRecording{recordings: c.Areas.Recordings, clock: clock})
	river.AddWorker(workers, &makeRecordingAssets{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &deleteRecordingFiles{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &makeClip{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &removeRecordingText{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &measureStorage{recordings: c.Areas.Recordings})
	river.AddWorker(workers, &runMediaJob{media: c.Areas.MediaJobs})
	river.AddWorker(workers, &deleteMediaJobFiles{media: c.Areas.MediaJobs})
	river.AddWorker(workers, &notifyMediaJob{media: c.Areas.MediaJobs, clock: clock})
	river.AddWorker(workers, &notifyThresholds{allowances: c.Areas.Allowances, clock: clock})
	river.AddWorker(workers, &upkeep{chores: chores(c.Areas, c.Pool)})
	river.AddWorker(workers, &writeSums{
		clock: clock, log: c.Log, analytics: c.Areas.Analytics, audit: c.Areas.AuditDays, reports: c.Areas.Reports,
	})
	return workers
}

// every returns a periodic job. Only the process that leads the queue adds it.
func every(interval time.Duration, args river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(interval), func() (river.JobArgs, *river.InsertOpts) {
		return args, nil
	}, &river.PeriodicJobOpts{ID: args.Kind(), RunOnStart: true})
}

// RecoverNode makes the jobs available again that this node was running when it was killed, so that they don't wait
// until they count as lost. Call it before the client starts. The lock on the data folder ensures that no other
// process has this node's name.
func RecoverNode(ctx context.Context, pool *pgxpool.Pool, node string) (int64, error) {
	tag, err := pool.Exec(ctx, `
		UPDATE river_job SET state = 'available', scheduled_at = now()
		WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`, node)
	if err != nil {
		return 0, fmt.Errorf("recover jobs: %w", err)
	}
	if _, err := pool.Exec(ctx, `DELETE FROM river_leader WHERE leader_id = $1`, node); err != nil {
		return 0, fmt.Errorf("release dead leadership: %w", err)
	}
	return tag.RowsAffected(), nil
}

// outcome cancels a job whose error can't be fixed by a retry.
func outcome(err error) error {
	if p, ok := problem.As(err); ok && p.Kind != problem.Unavailable {
		return river.JobCancel(err)
	}
	return err
}

// Check returns an error if the queue can't be queried.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	var n int
	if err := pool.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM river_job LIMIT 1) AS one").Scan(&n); err != nil {
		return fmt.Errorf("ask the queue: %w", err)
	}
	return nil
}
