package quota

import (
	"fmt"
	"math"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// Limit names a limit of plans, as PlanLimits of the API does.
type Limit string

// The limits that CheckTx knows.
const (
	// Users of a tenant, invited ones included.
	Users Limit = "maxUsers"
	// APIKeys that are neither revoked nor expired.
	APIKeys Limit = "maxApiKeys"
	// WebhookEndpoints that are not deleted.
	WebhookEndpoints Limit = "maxWebhookEndpoints"
)

// processorCalls per minute are counted by TakeProcessorCall.
const processorCalls Limit = "maxProcessorCalls"

// writtenBytes per hour are those of WrittenBytes.
const writtenBytes Limit = "maxWrittenBytes"

// The server's own bounds, which hold on every plan.
const (
	mostUsers            = 1000
	mostAPIKeys          = 1000
	mostWebhookEndpoints = 50
	mostProcessorCalls   = 600
	mostWrittenBytes     = 16 << 30
)

// mostPerDay is how many rows of one limit a tenant may make in a day, also if it
// deletes them at once: deleted rows are kept for a while, and so is the audit log.
const (
	mostPerDay = 1000
	day        = 24 * time.Hour
)

// of is what the plan allows.
func (l Limit) of(p db.Plan) int64 {
	switch l {
	case Users:
		return lower(p.MaxUsers, mostUsers)
	case APIKeys:
		return lower(p.MaxAPIKeys, mostAPIKeys)
	case WebhookEndpoints:
		return lower(p.MaxWebhookEndpoints, mostWebhookEndpoints)
	case processorCalls:
		return lower(p.MaxProcessorCalls, mostProcessorCalls)
	case writtenBytes:
		if p.MaxWrittenBytes == nil {
			return mostWrittenBytes
		}
		return min(*p.MaxWrittenBytes, mostWrittenBytes)
	}
	panic(fmt.Sprintf("quota: unknown limit %q", string(l)))
}

// what is limited, in words.
func (l Limit) what() string {
	return map[Limit]string{
		Users: "users", APIKeys: "API keys", WebhookEndpoints: "webhook endpoints",
		processorCalls: "calls a minute to the payment processor",
		writtenBytes:   "bytes an hour in requests that store something",
	}[l]
}

// lower is the lower one of a plan's limit, nil for none, and the server's own.
func lower(limit *int32, most int64) int64 {
	if limit == nil {
		return most
	}
	return min(int64(*limit), most)
}

// exceeded is the refusal for a tenant on plan p that would have needed in all.
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

// tooOften is exceeded for a limit that counts anew after a while.
func tooOften(l Limit, p db.Plan, plans []db.Plan, again time.Duration) *problem.Error {
	refusal := exceeded(l, p, plans, l.of(p)+1)
	limited := problem.Limited(again, "%s; try again in %d seconds", refusal.Message, int(math.Ceil(again.Seconds())))
	limited.Limit = refusal.Limit
	return limited
}

// tooManyToday is the refusal for a tenant that has made mostPerDay within a day, on every
// plan, and may make the next one again after a while.
func tooManyToday(l Limit, p db.Plan, again time.Duration) *problem.Error {
	limited := problem.Limited(again, "the limit %sPerDay is reached: %d %s were created within 24 hours; try again in %d seconds",
		string(l), mostPerDay, l.what(), int(math.Ceil(again.Seconds())))
	limited.Limit = &problem.Limit{Name: string(l) + "PerDay", Value: mostPerDay, Plan: p.Tier}
	return limited
}

// upgrade is the plan that allows needed, and the least above it. Of plans that
// allow the same it is the first; those that can't be booked are left out.
func upgrade(l Limit, plans []db.Plan, needed int64) (next db.Plan, ok bool) {
	for _, p := range plans {
		if p.Active && l.of(p) >= needed && (!ok || l.of(p) < l.of(next)) {
			next, ok = p, true
		}
	}
	return next, ok
}
