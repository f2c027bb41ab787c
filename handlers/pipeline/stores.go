package pipeline

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/base/stored"
	"showfloor/internal/tenancy/quota"
)

// stores is the kind of writes of an operation: x-stores in the document.
type stores string

const (
	storesLittle stores = ""
	// storesCounted: the bytes that its requests store count against the plan's
	// maxWrittenBytes. Requests are refused only when a budget's overdraft is used up
	// (budget.overdraft): moderation, the end of something and the replacement of a secret
	// must not fail because of other writes.
	storesCounted stores = "counted"
	// storesLater: the bytes that its requests store count. Requests are refused once the
	// plan's bytes are used up, and while the disk is nearly full. A product or a chat
	// message can wait, in contrast to an order, a bid or the end of a stream.
	storesLater stores = "true"
)

// Overdraft limits of operations with x-stores: counted, in hours of the budget. The first hour is
// the budget, the rest is debt. Beyond it, they are limited to the rate at which the budget is
// refilled.
const (
	// sharedOverdraft applies to the tenant's budget and to that of all its participants together.
	sharedOverdraft = 12
	// participantOverdraft is small because each participant has 1/16 of the bytes that all of them
	// have together: with 12 hours' worth, two hosts could use that up.
	participantOverdraft = 2
)

// budget is a bucket to which a request is charged.
type budget struct {
	ratelimit.Bucket

	// overdraft limits operations with x-stores: counted. They may use overdraft × Burst;
	// bytes beyond Burst are a debt.
	overdraft int
}

func storesOf(op *openapi3.Operation) (stores, error) {
	stated, ok := op.Extensions["x-stores"]
	if !ok {
		return storesLittle, nil
	}
	switch s := stores(fmt.Sprint(stated)); s {
	case storesCounted, storesLater:
		return s, nil
	default:
		return "", fmt.Errorf("%s: x-stores can't be %v", op.OperationID, stated)
	}
}

// storage limits the bytes that operations with x-stores write.
type storage struct {
	quotas *quota.Service
	limits *limits
	// refuse returns an error while writes that can wait must be refused, and nil otherwise.
	refuse func() error
}

// limitStorage charges the bytes that a request stored to the plan's maxWrittenBytes, after
// the answer. The charge may exceed the remaining bytes; then the next requests are refused
// until the debt is paid. Before the handler runs, it refuses operations that can wait if the disk
// is nearly full.
func (c *contract) limitStorage(s storage) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || op.stores == storesLittle {
				return next(e)
			}
			if op.stores == storesLater {
				if err := s.refuse(); err != nil {
					return err
				}
			}
			if s.limits.limiter == nil {
				return next(e)
			}
			budgets, err := s.budgets(e.Request().Context())
			if err != nil {
				return err
			}
			if err := s.check(e, op.stores, budgets); err != nil {
				return err
			}
			ctx, written := stored.Count(e.Request().Context())
			e.SetRequest(e.Request().WithContext(ctx))
			err = next(e)
			s.charge(ctx, budgets, units(op.stores, written.Bytes(), statusOf(e, err)))
			return err
		}
	}
}

// budgets returns the buckets to which a request is charged: the tenant's or, if a
// participant sends it, the participant's and that of all participants of the tenant, so that
// participants can't use up the budget of the tenant's own servers.
func (s storage) budgets(ctx context.Context) ([]budget, error) {
	caller := request.Caller(ctx)
	allowed, err := s.quotas.WrittenBytes(ctx, caller.TenantID)
	if err != nil {
		return nil, err
	}
	newBudget := func(name, subject string, part int64, overdraft int, what string) budget {
		policy := hourlyKiB(name, what, allowed/part)
		// A bucket stores a debt as a time. Each size has its own bucket, so that after a
		// change to a larger plan the tenant doesn't wait as long as with the smaller one.
		subject += "/" + strconv.Itoa(policy.Events)
		return budget{bucket(policy, subject), overdraft}
	}
	if p := caller.Participant; p != nil {
		return []budget{
			newBudget("audience-written", audienceOf(caller), quota.AudiencePart, sharedOverdraft,
				"KiB in requests of this tenant's participants together that store something"),
			newBudget("participant-written", ratelimit.Digest(p.RoomID+"/"+p.UserID), quota.ParticipantPart, participantOverdraft,
				"KiB in requests of this participant that store something"),
		}, nil
	}
	return []budget{
		newBudget("tenant-written", caller.TenantID, 1, sharedOverdraft, "KiB in requests of your tenant that store something"),
	}, nil
}

// check refuses a request if a budget is used up or, for operations with x-stores: counted,
// overdrawn. It charges nothing.
func (s storage) check(e echo.Context, op stores, budgets []budget) error {
	var err error
	if op == storesLater {
		all := make([]ratelimit.Bucket, len(budgets))
		for i, b := range budgets {
			all[i] = b.Bucket
		}
		err = s.limits.peekAll(e, all...)
	} else {
		for _, b := range budgets {
			b.Burst *= b.overdraft
			if err = s.limits.peek(e, b.Bucket); err != nil {
				break
			}
		}
	}
	caller := request.Caller(e.Request().Context())
	if refusal, refused := problem.As(err); refused && caller.Participant == nil {
		return s.quotas.RefuseWritten(e.Request().Context(), caller.TenantID, refusal.RetryAfter)
	}
	return err
}

// charge takes KiB from every budget, even if less is left.
func (s storage) charge(ctx context.Context, budgets []budget, cost int) {
	if cost == 0 {
		return
	}
	buckets := make([]ratelimit.Bucket, len(budgets))
	for i, b := range budgets {
		buckets[i] = b.Bucket
		buckets[i].Cost = cost
	}
	s.limits.limiter.Charge(ctx, buckets...)
}

// units returns how many KiB a request is charged, rounded up: all that InTx has counted, and at
// least 1 for a success with x-stores: true. With x-stores: counted, a success costs 0 if nothing
// changed, so that guests who lower a hand that isn't raised cause no debt.
//
// The count doesn't depend on the status: InTx drops the bytes of a refusal that was rolled back.
// If failures were free, clients could store at no charge: by disconnecting after the commit, with
// requests that take too long, or with ones that are refused after a first commit.
func units(op stores, bytes int64, status int) int {
	n := int((bytes + quota.WrittenUnit - 1) / quota.WrittenUnit)
	if status < http.StatusBadRequest && op == storesLater {
		return max(n, 1)
	}
	return n
}

// statusOf returns the status of a request's answer, even if that is still to be written
// because of err: 500 for every err that isn't a problem.
func statusOf(e echo.Context, err error) int {
	if err == nil {
		return e.Response().Status
	}
	if known, ok := problem.As(err); ok {
		return status(known.Kind)
	}
	return http.StatusInternalServerError
}

// hourlyKiB is a policy of so many bytes per hour, counted in KiB. All of them may be used at once.
func hourlyKiB(name, what string, bytes int64) ratelimit.Policy {
	n := int(bytes / quota.WrittenUnit)
	return ratelimit.Policy{Name: name, What: what, Rate: ratelimit.Rate{Events: n, Per: time.Hour, Burst: n}}
}
