package handlers

import (
	"context"
	"fmt"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/quota"
	"showfloor/internal/ratelimit"
	"showfloor/internal/stored"
)

// stores says what an operation stores: x-stores in the document.
type stores string

const (
	storesLittle stores = ""
	// storesCounted: its requests count against the plan's maxWrittenBytes.
	storesCounted stores = "counted"
	// storesLater: they do, and it can wait while the disk is nearly full. So can a
	// product or a chat message, in contrast to an order, a bid or the end of a stream.
	storesLater stores = "true"
)

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

// storage limits what operations with x-stores write.
type storage struct {
	quotas *quota.Service
	limits *limits
	// refuse says why nothing that can wait is stored at the moment; nil for no reason.
	refuse func() error
}

// limitStorage refuses operations with x-stores beyond the bytes that the tenant's plan
// allows in an hour, and those that can wait also while the disk is nearly full. The
// body's length is known: validation has read it.
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
			buckets, err := s.take(e, callerFrom(e.Request().Context()))
			if err != nil {
				return err
			}
			ctx, written := stored.Count(e.Request().Context())
			e.SetRequest(e.Request().WithContext(ctx))
			err = next(e)
			s.settle(ctx, buckets, written.Bytes())
			return err
		}
	}
}

// settle counts the bytes of events and audit entries beyond those of the request, as far
// as the buckets have them: the next request is refused then.
func (s storage) settle(ctx context.Context, buckets []ratelimit.Bucket, written int64) {
	for _, b := range buckets {
		more := units(written) - max(b.Cost, 1)
		if more <= 0 {
			continue
		}
		left := s.limits.limiter.Peek(ctx, b.Policy, b.Subject)
		if !left.Allowed {
			continue
		}
		b.Cost = min(more, left.Remaining+1) // Peek has taken one off
		s.limits.limiter.TakeAll(ctx, b)
	}
}

// units are the KiB of so many bytes, rounded up.
func units(bytes int64) int {
	return int((bytes + quota.WrittenUnit - 1) / quota.WrittenUnit)
}

// take counts a request's bytes: for the tenant or, if a participant sends it, for the
// participant and for all participants of the tenant, so that they can't use up what the
// tenant's own servers have.
func (s storage) take(e echo.Context, caller account.Caller) ([]ratelimit.Bucket, error) {
	if s.limits.limiter == nil {
		return nil, nil
	}
	ctx := e.Request().Context()
	allowed, err := s.quotas.WrittenBytes(ctx, caller.TenantID)
	if err != nil {
		return nil, err
	}
	bucket := func(name, subject string, part int64) ratelimit.Bucket {
		return ratelimit.Bucket{Policy: hourlyKiB(name, allowed/part), Subject: subject, Cost: units(e.Request().ContentLength)}
	}
	if p := caller.Participant; p != nil {
		all := bucket("audience-written", caller.TenantID, quota.AudiencePart)
		one := bucket("participant-written", digest(p.RoomID+"/"+p.UserID), quota.ParticipantPart)
		return []ratelimit.Bucket{all, one}, s.limits.takeAll(e,
			counted{Bucket: all, what: "KiB in requests of this tenant's participants together that store something"},
			counted{Bucket: one, what: "KiB in requests of this participant that store something"})
	}
	own := bucket("tenant-written", caller.TenantID, 1)
	err = s.limits.takeAll(e, counted{Bucket: own})
	if refusal, refused := problem.As(err); refused {
		err = s.quotas.RefuseWritten(ctx, caller.TenantID, refusal.RetryAfter)
	}
	return []ratelimit.Bucket{own}, err
}

// hourlyKiB allows bytes in an hour, all of them at once, counted in KiB.
func hourlyKiB(name string, bytes int64) ratelimit.Policy {
	n := int(bytes / quota.WrittenUnit)
	return ratelimit.Policy{Name: name, Rate: ratelimit.Rate{Events: n, Per: time.Hour, Burst: n}}
}
