package restream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/rtmpurl"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

const (
	// testLease is how long a test may keep routes from its target. It is longer than a test, whose end is stored; a killed server's
	// isn't.
	testLease = 20 * time.Second
	// endTime bounds the statement that stores the end of a test, also after the request has ended.
	endTime = 3 * time.Second
	// maxTests and maxTenantTests bound the tests at a time on this server, of all tenants and of one.
	maxTests       = 20
	maxTenantTests = 2
)

// ProbeStep is one step of a test.
type ProbeStep struct {
	Name string
	Took time.Duration
	// Failure is why the test has ended here, for people; empty if the step succeeded.
	Failure string
}

// Probed is the result of a test. No text holds a part of the address.
type Probed struct {
	// Steps are in order; the last one may have failed.
	Steps []ProbeStep
	// Answer is the target's own answer to the stream; empty for none.
	Answer string
	// KeyAccepted is nil if it isn't known.
	KeyAccepted *bool
	// Message is the result for people.
	Message string
	Took    time.Duration
}

// TestRestreamTarget publishes to a target without media, and returns the result, which isn't stored. The target has no open route, 409
// target_in_use, and gets none during the test. 409 target_under_test while another test of it runs, 429 too_many_tests and
// too_many_tests_on_server above the limits.
func (s *Service) TestRestreamTarget(ctx context.Context, c tenancy.Caller, targetID string) (Probed, error) {
	if s.config.Prober == nil {
		return Probed{}, problem.New(problem.Unavailable, "media_unavailable", "this server can't connect to restream targets")
	}
	leave, err := s.tests.enter(c.TenantID)
	if err != nil {
		return Probed{}, err
	}
	defer leave()
	until := s.config.Now().Add(testLease).Truncate(time.Microsecond)
	address, err := s.startTest(ctx, c, targetID, until)
	if err != nil {
		return Probed{}, err
	}
	defer s.endTest(ctx, c.TenantID, targetID, until)
	return s.config.Prober.Probe(ctx, address), nil
}

// startTest keeps other tests and routes from a target, and returns its address.
func (s *Service) startTest(ctx context.Context, c tenancy.Caller, targetID string, until time.Time) (a rtmpurl.Address, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.LockRestreamTarget(ctx, db.LockRestreamTargetParams{TenantID: c.TenantID, ID: targetID})
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoTarget()
		}
		if err != nil {
			return fmt.Errorf("lock restream target: %w", err)
		}
		if row.TestUntil != nil && row.TestUntil.After(now) {
			return errUnderTest()
		}
		streams, err := q.ListStreamsOfRestreamTarget(ctx, db.ListStreamsOfRestreamTargetParams{TenantID: c.TenantID, TargetID: targetID})
		if err != nil {
			return fmt.Errorf("list streams of restream target: %w", err)
		}
		if len(streams) > 0 {
			return problem.New(problem.Conflict, "target_in_use",
				"the target has a pending or live route, which a test could disturb: its state is that of the route; detach the target to test it")
		}
		if a, err = s.open(targetID, row.Address); err != nil {
			s.config.Log.Error("a restream target can't be tested", "target", targetID, "error", err)
			return problem.BadField("rtmpUrl", "the stored address can't be read: change it")
		}
		if err := s.checkAddress(a.URL + "/" + a.Key); err != nil {
			return err
		}
		if err := q.StartRestreamTest(ctx, db.StartRestreamTestParams{TenantID: c.TenantID, ID: targetID, TestUntil: until}); err != nil {
			return fmt.Errorf("start the test of a restream target: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "restream_target.test", Entity: targetEntity, EntityID: targetID,
			After: map[string]any{"name": row.Name, "platform": row.Platform},
		})
	})
	return a, err
}

// endTest admits routes and tests again. If it fails, the lease ends by itself.
func (s *Service) endTest(ctx context.Context, tenantID, targetID string, until time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := db.New(s.config.Pool).EndRestreamTest(ctx, db.EndRestreamTestParams{TenantID: tenantID, ID: targetID, TestUntil: until})
	if err != nil {
		s.config.Log.Warn("the end of a restream target's test could not be stored", "target", targetID, "error", err)
	}
}

// checkUntested refuses a route to a target that is being tested. The targets are locked.
func (s *Service) checkUntested(ctx context.Context, q *db.Queries, tenantID string, targetIDs []string) error {
	p := db.FindTestedRestreamTargetParams{TenantID: tenantID, Ids: targetIDs, Now: s.config.Now()}
	_, err := q.FindTestedRestreamTarget(ctx, p)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("look for tested restream targets: %w", err)
	}
	return errUnderTest()
}

func errUnderTest() error {
	return problem.New(problem.Conflict, "target_under_test", "a test of the target is under way; try again in some seconds")
}

// places counts the tests under way on this server.
type places struct {
	mu    sync.Mutex
	total int
	each  map[string]int // by tenant
}

// enter takes a place until leave is called.
func (p *places) enter(tenantID string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each[tenantID] >= maxTenantTests {
		return nil, tooMany("too_many_tests", "%d tests of your restream targets are under way; wait for one to end", maxTenantTests)
	}
	if p.total >= maxTests {
		return nil, tooMany("too_many_tests_on_server", "this server makes %d tests already; wait for one to end", maxTests)
	}
	p.total++
	p.each[tenantID]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.total--
		if p.each[tenantID]--; p.each[tenantID] == 0 {
			delete(p.each, tenantID)
		}
	}, nil
}

func tooMany(code, format string, most int) error {
	e := problem.New(problem.RateLimited, code, format, most)
	e.RetryAfter = time.Second
	return e
}
