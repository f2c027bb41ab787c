package handlers

import (
	"fmt"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/quota"
	"showfloor/internal/ratelimit"
)

const (
	// writtenUnit is what a request counts as at least, in bytes: its row and its event
	// take about as much, however short its body is.
	writtenUnit = 1024
	// participantPart is the part of the tenant's bytes that one participant may write.
	participantPart = 32
)

// storesOf reads x-stores: whether the operation stores something that can wait, such
// as a product or a chat message, in contrast to an order, a bid or the end of a
// stream.
func storesOf(op *openapi3.Operation) (bool, error) {
	switch stated := op.Extensions["x-stores"]; stated {
	case nil:
		return false, nil
	case true:
		return true, nil
	default:
		return false, fmt.Errorf("%s: x-stores can't be %v", op.OperationID, stated)
	}
}

// storage limits what operations with x-stores write.
type storage struct {
	quotas *quota.Service
	limits *limits
	// refuse says why nothing that can wait is stored at the moment; nil for no reason.
	refuse func() error
}

// limitStorage refuses operations with x-stores while the disk is nearly full, and
// beyond the bytes that the tenant's plan allows in an hour. The body's length is
// known: validation has read it.
func (c *contract) limitStorage(s storage) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || !op.stores {
				return next(e)
			}
			if err := s.refuse(); err != nil {
				return err
			}
			if err := s.take(e, callerFrom(e.Request().Context())); err != nil {
				return err
			}
			return next(e)
		}
	}
}

// take counts a request's bytes for the tenant and, if a participant sends it, for the
// participant.
func (s storage) take(e echo.Context, caller account.Caller) error {
	if s.limits.limiter == nil {
		return nil
	}
	ctx := e.Request().Context()
	allowed, err := s.quotas.WrittenBytes(ctx, caller.TenantID)
	if err != nil {
		return err
	}
	cost := int((e.Request().ContentLength + writtenUnit - 1) / writtenUnit)
	buckets := []ratelimit.Bucket{{Policy: hourly("tenant-written", allowed), Subject: caller.TenantID, Cost: cost}}
	if p := caller.Participant; p != nil {
		buckets = append(buckets, ratelimit.Bucket{
			Policy: hourly("participant-written", allowed/participantPart), Subject: digest(p.RoomID + "/" + p.UserID), Cost: cost,
		})
	}
	results := s.limits.limiter.TakeAll(ctx, buckets...)
	for i, r := range results {
		showLimit(e, buckets[i].Policy, r)
	}
	if len(results) > 1 && !results[1].Allowed {
		return overLimit(buckets[1].Policy, results[1], "KiB in requests of this participant that store something")
	}
	if !results[0].Allowed {
		return s.quotas.RefuseWritten(ctx, caller.TenantID, results[0].RetryAfter)
	}
	return nil
}

// hourly allows bytes in an hour, all of them at once, counted in KiB.
func hourly(name string, bytes int64) ratelimit.Policy {
	n := int(bytes / writtenUnit)
	return ratelimit.Policy{Name: name, Rate: ratelimit.Rate{Events: n, Per: time.Hour, Burst: n}}
}
