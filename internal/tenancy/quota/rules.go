package quota

import (
	"fmt"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Limit names a limit of plans, as PlanLimits of the API does.
type Limit string

// The limits that CheckTx knows.
const (
	// Users of a tenant, including invited users.
	Users Limit = "maxUsers"
	// APIKeys that are neither revoked nor expired.
	APIKeys Limit = "maxApiKeys"
	// WebhookEndpoints that are not deleted.
	WebhookEndpoints Limit = "maxWebhookEndpoints"
	// LiveStreams are on air, or have an encoder that was accepted.
	LiveStreams Limit = "maxLiveStreams"
	// Viewers of all of a tenant's streams on air.
	Viewers Limit = "maxViewers"
	// SessionCapacity is the number of participants that one session may have.
	SessionCapacity Limit = "maxSessionCapacity"
	// RestreamTargets of one stream: its pending and live routes.
	RestreamTargets Limit = "maxRestreamTargets"
	// TenantRestreamTargets are the targets of a tenant that are not deleted, the same number on every plan.
	TenantRestreamTargets Limit = "restreamTargets"
	// PushProjects are a tenant's projects with push credentials, and PushDevices its devices; the same numbers on every plan.
	PushProjects Limit = "pushProjects"
	PushDevices  Limit = "pushDevices"
)

// processorCalls per minute are counted by TakeProcessorCall.
const processorCalls Limit = "maxProcessorCalls"

// writtenBytes is the limit of WrittenBytes, in bytes per hour.
const writtenBytes Limit = "maxWrittenBytes"

// The server's own bounds, which hold on every plan.
const (
	maxUsers            = 1000
	maxAPIKeys          = 1000
	maxWebhookEndpoints = 50
	maxLiveStreams      = 10_000
	maxViewers          = 10_000_000
	maxSessionCapacity  = 10_000
	maxRestreamTargets  = 8 // of one stream
	maxTenantTargets    = 100
	maxPushProjects     = 100
	maxPushDevices      = 1_000_000
	maxProcessorCalls   = 600
	maxWrittenBytes     = 16 << 30
)

// maxPerDay is the number of rows of one limit that a tenant may create in a day, even
// if it deletes them at once: deleted rows and audit entries are kept for a while.
const (
	maxPerDay = 1000
	day       = 24 * time.Hour
)

// of returns the value of the limit in the plan.
func (l Limit) of(p db.Plan) int64 {
	switch l {
	case Users:
		return lower(p.MaxUsers, maxUsers)
	case APIKeys:
		return lower(p.MaxAPIKeys, maxAPIKeys)
	case WebhookEndpoints:
		return lower(p.MaxWebhookEndpoints, maxWebhookEndpoints)
	case LiveStreams:
		return lower(p.MaxLiveStreams, maxLiveStreams)
	case Viewers:
		return lower(p.MaxViewers, maxViewers)
	case SessionCapacity:
		return lower(p.MaxSessionCapacity, maxSessionCapacity)
	case RestreamTargets:
		return lower(p.MaxRestreamTargets, maxRestreamTargets)
	case TenantRestreamTargets:
		return maxTenantTargets
	case PushProjects:
		return maxPushProjects
	case PushDevices:
		return maxPushDevices
	case processorCalls:
		return lower(p.MaxProcessorCalls, maxProcessorCalls)
	case writtenBytes:
		if p.MaxWrittenBytes == nil {
			return maxWrittenBytes
		}
		return min(*p.MaxWrittenBytes, maxWrittenBytes)
	}
	panic(fmt.Sprintf("quota: unknown limit %q", string(l)))
}

// what returns the limited things in words.
func (l Limit) what() string {
	return map[Limit]string{
		Users: "users", APIKeys: "API keys", WebhookEndpoints: "webhook endpoints",
		LiveStreams: "streams on air at one time", Viewers: "viewers at one time", SessionCapacity: "participants in a session",
		RestreamTargets: "restream targets of a stream", TenantRestreamTargets: "restream targets",
		PushProjects: "projects with push credentials", PushDevices: "push devices",
		processorCalls: "calls a minute to the payment processor",
		writtenBytes:   "bytes an hour in requests that store something",
	}[l]
}

// lower returns the smaller one of a plan's limit, nil for none, and the server's own.
func lower(limit *int32, most int64) int64 {
	if limit == nil {
		return most
	}
	return min(int64(*limit), most)
}

// exceeded returns the refusal for a tenant on plan p that would need the given total.
// plans are all plans, the smallest tier first.
func exceeded(l Limit, p db.Plan, plans []db.Plan, needed int64) *problem.Error {
	refusal := problem.New(problem.Forbidden, "plan_limit", "the plan %s allows %d %s, and no plan allows more", p.Tier, l.of(p), l.what())
	refusal.Limit = &problem.Limit{Name: string(l), Value: l.of(p), Plan: p.Tier}
	if next, ok := upgrade(l, plans, needed); ok {
		refusal.Limit.UpgradeTo = next.Tier
		refusal.Message = fmt.Sprintf("the plan %s allows %d %s; %s allows %d", p.Tier, l.of(p), l.what(), next.Tier, l.of(next))
	}
	return refusal
}

// tooOften is exceeded for a limit whose count restarts after a while.
func tooOften(l Limit, p db.Plan, plans []db.Plan, again time.Duration) *problem.Error {
	refusal := exceeded(l, p, plans, l.of(p)+1)
	limited := problem.Limited(again, "%s; try again in %d seconds", refusal.Message, int(math.Ceil(again.Seconds())))
	limited.Limit = refusal.Limit
	return limited
}

// tooManyToday returns the refusal for a tenant that has created maxPerDay within a day,
// which is the same on every plan. again is the time until it may create the next one.
func tooManyToday(l Limit, p db.Plan, again time.Duration) *problem.Error {
	limited := problem.Limited(again, "the limit %sPerDay is reached: %d %s were created within 24 hours; try again in %d seconds",
		string(l), maxPerDay, l.what(), int(math.Ceil(again.Seconds())))
	limited.Limit = &problem.Limit{Name: string(l) + "PerDay", Value: maxPerDay, Plan: p.Tier}
	return limited
}

// upgrade returns the plan with the smallest limit that allows needed. Of plans with the
// same limit it returns the first; it ignores plans that can't be booked.
func upgrade(l Limit, plans []db.Plan, needed int64) (next db.Plan, ok bool) {
	for _, p := range plans {
		if p.Active && l.of(p) >= needed && (!ok || l.of(p) < l.of(next)) {
			next, ok = p, true
		}
	}
	return next, ok
}
