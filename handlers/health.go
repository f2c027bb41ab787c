package handlers

import (
	"context"
	"sync"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
)

// checkTimeout bounds one readiness check.
const checkTimeout = 2 * time.Second

// GetHealth answers while the process serves requests.
func (s *Server) GetHealth(context.Context, api.GetHealthRequestObject) (api.GetHealthResponseObject, error) {
	return api.GetHealth200JSONResponse{Status: api.CheckStatusOk}, nil
}

// readinessLife is how long an answer is cached, because the operation is
// public and each check costs something.
const readinessLife = time.Second

// readiness remembers the last answer.
type readiness struct {
	mu     sync.Mutex
	result api.Readiness
	at     time.Time
}

// GetReadiness reports whether all parts work.
func (s *Server) GetReadiness(ctx context.Context, _ api.GetReadinessRequestObject) (api.GetReadinessResponseObject, error) {
	s.ready.mu.Lock()
	defer s.ready.mu.Unlock()
	if time.Since(s.ready.at) > readinessLife {
		// Later requests read this answer too, so the checks don't end with
		// this request.
		s.ready.result, s.ready.at = s.checkAll(context.WithoutCancel(ctx), s.checks), time.Now()
	}
	if s.ready.result.Status != api.CheckStatusOk {
		return api.GetReadiness503JSONResponse(s.ready.result), nil
	}
	return api.GetReadiness200JSONResponse(s.ready.result), nil
}

// checkAll runs all checks at the same time.
func (s *Server) checkAll(ctx context.Context, checks []Check) api.Readiness {
	result := api.Readiness{Status: api.CheckStatusOk, Checks: make([]api.ReadinessCheck, len(checks))}
	var wg sync.WaitGroup
	for i, check := range checks {
		wg.Go(func() { result.Checks[i] = s.run(ctx, check) })
	}
	wg.Wait()
	for i, c := range result.Checks {
		if c.Status != api.CheckStatusOk && !checks[i].Deferred {
			result.Status = api.CheckStatusFailing
		}
	}
	return result
}

// run makes one check. Only the log gets the exact error. The public gets it
// only if it is a problem, whose text is written for callers.
func (s *Server) run(ctx context.Context, check Check) api.ReadinessCheck {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	start := time.Now()
	err := check.Run(ctx)
	c := api.ReadinessCheck{
		Name: check.Name, Engine: check.Engine(), Status: api.CheckStatusOk, DurationMs: int(time.Since(start).Milliseconds()),
	}
	if err != nil {
		s.log.WarnContext(ctx, "readiness check failed", "check", check.Name, "error", err)
		c.Status, c.Message = api.CheckStatusFailing, new("not reachable; see the server's log")
		if p, public := problem.As(err); public {
			c.Message = &p.Message
		}
	}
	return c
}
