package handlers

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/operations"
)

// healthLife is how long a result is reused, so that requests can't load the parts with checks.
const healthLife = 2 * time.Second

// health remembers the last result of the checks for admins.
type health struct {
	mu     sync.Mutex
	result api.Readiness
	at     time.Time
}

// check runs the checks, or returns the result of the last 2 seconds.
func (s *Server) checkHealth(ctx context.Context) (api.Readiness, time.Time) {
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	if time.Since(s.health.at) > healthLife {
		// Later requests read this result too, so the checks don't end with this request.
		s.health.result, s.health.at = s.checkAll(context.WithoutCancel(ctx), s.adminChecks()), time.Now()
	}
	return s.health.result, s.health.at
}

// adminChecks are the checks of the readiness, and that of the workers, which is no reason to send requests elsewhere.
func (s *Server) adminChecks() []Check {
	return append(slices.Clip(s.checks), Check{
		Name: "workers", Engine: func() string { return "River" }, Run: func(ctx context.Context) error {
			b, err := s.areas.Operations.GetBacklog(ctx)
			if err == nil && b.Late {
				err = problem.New(problem.Unavailable, "unavailable", "%d jobs are due, the oldest since %s; see the latest jobs", b.Due,
					b.OldestAt.UTC().Format(time.RFC3339))
			}
			return err
		},
	})
}

// GetAdminSystemHealth returns the state of the servers and of all parts.
func (s *Server) GetAdminSystemHealth(
	ctx context.Context, _ api.GetAdminSystemHealthRequestObject,
) (api.GetAdminSystemHealthResponseObject, error) {
	checks, at := s.checkHealth(ctx)
	nodes, err := s.areas.Operations.ListNodes(ctx)
	if err != nil {
		return nil, err
	}
	process := s.areas.Process
	out := api.GetAdminSystemHealth200JSONResponse{
		Status: api.CheckStatusOk, At: timestamp.From(at), Version: process.Version, StartedAt: timestamp.From(process.StartedAt),
		Checks: checks.Checks, Nodes: each(nodes, toSystemNode),
	}
	for _, c := range out.Checks {
		if c.Status != api.CheckStatusOk {
			out.Status = api.CheckStatusFailing
		}
	}
	for _, n := range out.Nodes {
		if n.Status != api.CheckStatusOk {
			out.Status = api.CheckStatusFailing
		}
	}
	return out, nil
}

func toSystemNode(n operations.Node) api.SystemNode {
	out := api.SystemNode{
		ID: n.ID, Status: api.CheckStatusOk, Roles: []api.NodeRole{api.NodeRoleAPI, api.NodeRoleINGEST, api.NodeRoleWORKER},
		Version: valueOr(n.Version, "unknown"), LiveStreams: int(n.Streams), Viewers: int(n.Viewers), Participants: int(n.Participants),
		StartedAt: timestamp.From(valueOr(n.StartedAt, n.SeenAt)), SeenAt: timestamp.From(n.SeenAt),
	}
	if n.SfuURL != nil {
		out.Roles = append(out.Roles, api.NodeRoleSFU)
	}
	if !n.Alive {
		out.Status = api.CheckStatusFailing
	}
	return out
}

// GetAdminDatabaseStats returns the size of the database.
func (s *Server) GetAdminDatabaseStats(
	ctx context.Context, _ api.GetAdminDatabaseStatsRequestObject,
) (api.GetAdminDatabaseStatsResponseObject, error) {
	d, err := s.areas.Operations.GetDatabase(ctx)
	if err != nil {
		return nil, err
	}
	return api.GetAdminDatabaseStats200JSONResponse{
		At: timestamp.From(d.At), Version: d.Version, TotalBytes: d.Bytes, Connections: int(d.Connections), MaxConnections: int(d.MaxConnections),
		Migration: int(d.Migration), Tables: each(d.Tables, func(t operations.Table) api.TableStats {
			return api.TableStats{
				Name: t.Name, Rows: t.Rows, DeadRows: t.DeadRows, TableBytes: t.TableBytes, IndexBytes: t.IndexBytes,
				TotalBytes: t.TableBytes + t.IndexBytes, LastVacuumAt: timeOrNull(t.LastVacuumAt), LastAnalyzeAt: timeOrNull(t.LastAnalyzeAt),
			}
		}),
	}, nil
}

// ListAdminSchedulerRuns lists the latest background jobs.
func (s *Server) ListAdminSchedulerRuns(
	ctx context.Context, r api.ListAdminSchedulerRunsRequestObject,
) (api.ListAdminSchedulerRunsResponseObject, error) {
	limit, err := limitOf(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	runs, err := s.areas.Operations.ListRuns(ctx, given(r.Params.Kind), limit)
	if err != nil {
		return nil, err
	}
	return api.ListAdminSchedulerRuns200JSONResponse{Items: each(runs, toSchedulerRun)}, nil
}

func toSchedulerRun(r operations.Run) api.SchedulerRun {
	out := api.SchedulerRun{
		ID: strconv.FormatInt(r.ID, 10), Kind: r.Kind, Status: toSchedulerRunStatus(r.State), Queue: r.Queue, Periodic: r.Periodic,
		Attempt: int(r.Attempt), MaxAttempts: int(r.MaxAttempts), Node: orNull(r.Node), ScheduledAt: timestamp.From(r.ScheduledAt),
		StartedAt: timeOrNull(r.StartedAt), FinishedAt: timeOrNull(r.FinishedAt), DurationMs: orNull[int64](nil), Error: orNull(r.Error),
		CreatedAt: timestamp.From(r.CreatedAt),
	}
	if r.StartedAt != nil && r.FinishedAt != nil {
		out.DurationMs.Set(max(r.FinishedAt.Sub(*r.StartedAt).Milliseconds(), 0))
	}
	return out
}

// toSchedulerRunStatus converts a state of the queue.
func toSchedulerRunStatus(state string) api.SchedulerRunStatus {
	switch state {
	case "scheduled", "pending":
		return api.SchedulerRunStatusSCHEDULED
	case "running":
		return api.SchedulerRunStatusRUNNING
	case "retryable":
		return api.SchedulerRunStatusRETRYING
	case "completed":
		return api.SchedulerRunStatusCOMPLETED
	case "cancelled":
		return api.SchedulerRunStatusCANCELED
	case "discarded":
		return api.SchedulerRunStatusFAILED
	default:
		return api.SchedulerRunStatusQUEUED
	}
}
