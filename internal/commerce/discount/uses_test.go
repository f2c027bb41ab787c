package discount_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/testkit/apitest"
)

// rig is a tenant with a stream in which codes are used.
type rig struct {
	*apitest.Server

	owner *apitest.Caller
	st    api.Stream
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	return &rig{s, owner, owner.Stream(t, nil)}
}

func (r *rig) use(code, customer string) discount.Use {
	return discount.Use{Code: code, StreamID: &r.st.ID, CustomerExternalID: customer}
}

// hold does the part of a checkout that concerns a code: it holds the use and
// writes the order in one transaction.
func (r *rig) hold(ctx context.Context, u discount.Use) (a discount.Applied, orderID string, err error) {
	return r.holdFor(ctx, u, 1999)
}

func (r *rig) holdFor(ctx context.Context, u discount.Use, subtotal int64) (a discount.Applied, orderID string, err error) {
	err = postgres.InTx(ctx, r.Pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		held := r.Discounts.QueueHold(b, r.owner.TenantID, u)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		var err error
		if a, err = held.Applied(subtotal); err != nil {
			return err
		}
		orderID = id.New(id.Order)
		_, err = tx.Exec(ctx, `INSERT INTO orders (id, tenant_id, stream_id, customer_external_id, subtotal_cents, discount_cents, total_cents,
				application_fee_cents, currency, discount_id, success_url, cancel_url, expires_at, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 'USD', $8, '', '', $9, $9, $9)`,
			orderID, r.owner.TenantID, u.StreamID, u.CustomerExternalID, subtotal, a.OffCents, subtotal-a.OffCents, a.Discount.ID, r.Clock.Now())
		return err
	})
	return a, orderID, err
}

func (r *rig) release(ctx context.Context, discountID, orderID string) error {
	return postgres.InTx(ctx, r.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE orders SET status = 'EXPIRED' WHERE id = $1", orderID); err != nil {
			return err
		}
		return r.Discounts.ReleaseTx(ctx, tx, r.owner.TenantID, discountID)
	})
}

func (r *rig) redeem(ctx context.Context, discountID, orderID string, held bool) error {
	return postgres.InTx(ctx, r.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE orders SET status = 'PAID', paid_at = now() WHERE id = $1", orderID); err != nil {
			return err
		}
		return r.Discounts.RedeemTx(ctx, tx, r.owner.TenantID, discountID, held)
	})
}

// counts returns how often a code was used, and how many uses are held.
func (r *rig) counts(t *testing.T, discountID string) (redemptions, held int) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT redemptions, held FROM discounts WHERE id = $1", discountID).Scan(&redemptions, &held))
	return redemptions, held
}

func refusedAs(err error, message string) bool {
	p, ok := problem.As(err)
	return ok && p.Code == "discount_invalid" && p.Message == message
}

const usedUp = "this discount code is used up"

// many runs work n times at once and returns how often it succeeded. Any refusal
// except the expected one fails the test.
func many(t *testing.T, n int, refusal string, work func(i int) error) int {
	t.Helper()
	var wg sync.WaitGroup
	var well atomic.Int64
	for i := range n {
		wg.Go(func() {
			switch err := work(i); {
			case err == nil:
				well.Add(1)
			case !refusedAs(err, refusal):
				t.Errorf("not refused as it should be: %v", err)
			}
		})
	}
	wg.Wait()
	return int(well.Load())
}

func TestACodeIsHeldNoMoreOftenThanItMayBeUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.owner.Discount(t, map[string]any{"maxRedemptions": 10})
	held := many(t, 50, usedUp, func(i int) error {
		_, _, err := r.hold(t.Context(), r.use("launch20", strconv.Itoa(i)))
		return err
	})
	require.Equal(t, 10, held)
	redemptions, holding := r.counts(t, d.ID)
	require.Equal(t, []int{0, 10}, []int{redemptions, holding}, "refused ones left nothing")
}

func TestCountsStayExactWhileUsesComeAndGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.owner.Discount(t, map[string]any{"maxRedemptions": 20})
	var paid, left atomic.Int64
	many(t, 50, usedUp, func(i int) error {
		for range 3 {
			a, orderID, err := r.hold(t.Context(), r.use("LAUNCH20", strconv.Itoa(i)))
			if err != nil {
				return err
			}
			if a.Discount.Redemptions+a.Discount.Held > 20 {
				return errors.New("held beyond the limit")
			}
			switch rand.IntN(4) {
			case 0:
				paid.Add(1)
				err = r.redeem(t.Context(), d.ID, orderID, true)
			case 1:
				left.Add(1)
			default:
				err = r.release(t.Context(), d.ID, orderID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	redemptions, held := r.counts(t, d.ID)
	require.EqualValues(t, paid.Load(), redemptions)
	require.EqualValues(t, left.Load(), held)
	require.LessOrEqual(t, redemptions+held, 20)
	rest := 20 - redemptions - held
	require.Equal(t, rest, many(t, 50, usedUp, func(i int) error {
		_, _, err := r.hold(t.Context(), r.use("LAUNCH20", strconv.Itoa(i)))
		return err
	}), "the released uses are free again, and no more")
}

func TestACustomerUsesACodeNoMoreOftenThanAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.owner.Discount(t, map[string]any{"maxPerCustomer": 2})
	const often = "this customer has used this discount code as often as possible"
	var orders sync.Map
	require.Equal(t, 2, many(t, 50, often, func(int) error {
		a, orderID, err := r.hold(t.Context(), r.use("LAUNCH20", "ada"))
		if err == nil {
			orders.Store(orderID, a.Discount.ID)
		}
		return err
	}))
	_, _, err := r.hold(t.Context(), r.use("LAUNCH20", "bo"))
	require.NoError(t, err, "another customer")
	redeemed := false
	orders.Range(func(orderID, discountID any) bool {
		if !redeemed { // a paid use still counts; an expired one doesn't
			redeemed = true
			require.NoError(t, r.redeem(t.Context(), discountID.(string), orderID.(string), true))
			_, _, err := r.hold(t.Context(), r.use("LAUNCH20", "ada"))
			require.True(t, refusedAs(err, often), "%v", err)
			return true
		}
		require.NoError(t, r.release(t.Context(), discountID.(string), orderID.(string)))
		return true
	})
	_, _, err = r.hold(t.Context(), r.use("LAUNCH20", "ada"))
	require.NoError(t, err)
	_, _, err = r.hold(t.Context(), r.use("LAUNCH20", "ada"))
	require.True(t, refusedAs(err, often), "%v", err)
}

func TestHoldReturnsTheReasonOfARefusal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := r.Clock.Now()
	elsewhere := r.owner.Stream(t, nil)
	r.owner.Discount(t, map[string]any{"code": "OFF", "active": false})
	r.owner.Discount(t, map[string]any{"code": "LATER", "startsAt": now.Add(time.Minute)})
	r.owner.Discount(t, map[string]any{"code": "ENDING", "endsAt": now.Add(time.Minute)})
	r.owner.Discount(t, map[string]any{"code": "THERE", "streamId": elsewhere.ID})
	r.owner.Discount(t, map[string]any{"code": "HERE", "streamId": r.st.ID})
	r.Register(t).Discount(t, map[string]any{"code": "THEIRS"})
	for code, why := range map[string]string{
		"OFF":                    "this discount code is switched off",
		"LATER":                  "this discount code can't be used yet",
		"THERE":                  "this discount code only counts in another stream",
		"THEIRS":                 "there is no such discount code",
		"NEVER":                  "there is no such discount code",
		"":                       "there is no such discount code",
		"HERE ":                  "there is no such discount code",
		"HER\u0415":              "there is no such discount code", // a Cyrillic letter
		"%":                      "there is no such discount code",
		"HERE\x00":               "there is no such discount code",
		"\xff\xfe\xfd":           "there is no such discount code",
		"\u212aelvin":            "there is no such discount code", // the Kelvin sign, whose lower() is k
		"hErE' OR code = 'THERE": "there is no such discount code",
	} {
		_, _, err := r.hold(t.Context(), r.use(code, "ada"))
		require.True(t, refusedAs(err, why), "%q: %v", code, err)
	}
	for _, code := range []string{"here", "HeRe", "ending"} {
		a, _, err := r.hold(t.Context(), r.use(code, "ada"))
		require.NoError(t, err, code)
		require.EqualValues(t, 400, a.OffCents)
	}
	r.Clock.Advance(time.Minute)
	_, _, err := r.hold(t.Context(), r.use("LATER", "ada"))
	require.NoError(t, err, "from its start on")
	_, _, err = r.hold(t.Context(), r.use("ENDING", "ada"))
	require.True(t, refusedAs(err, "this discount code has expired"), "%v", err)
}

func TestAnAmountTakesOffNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.owner.Discount(t, map[string]any{"percentOff": nil, "amountOffCents": 2500})
	for subtotal, want := range map[int64]int64{10_000: 2500, 2500: 2500, 1999: 1999, 0: 0} {
		a, _, err := r.holdFor(t.Context(), r.use("LAUNCH20", "ada"), subtotal)
		require.NoError(t, err)
		require.Equal(t, want, a.OffCents)
	}
}

func TestAPaidOrderCountsEvenBeyondTheLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.owner.Discount(t, map[string]any{"maxRedemptions": 1})
	_, first, err := r.hold(t.Context(), r.use("LAUNCH20", "ada"))
	require.NoError(t, err)
	require.NoError(t, r.release(t.Context(), d.ID, first))
	_, second, err := r.hold(t.Context(), r.use("LAUNCH20", "bo"))
	require.NoError(t, err)
	require.NoError(t, r.redeem(t.Context(), d.ID, first, false), "its page was paid all the same")
	require.NoError(t, r.redeem(t.Context(), d.ID, second, true))
	redemptions, held := r.counts(t, d.ID)
	require.Equal(t, []int{2, 0}, []int{redemptions, held})
}

func TestAHoldIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.owner.Discount(t, nil)
	_, orderID, err := r.hold(t.Context(), r.use("LAUNCH20", "ada"))
	require.NoError(t, err)
	require.NoError(t, r.release(t.Context(), d.ID, orderID))
	require.Error(t, r.release(t.Context(), d.ID, orderID), "the table refuses a second time")
	require.Error(t, r.redeem(t.Context(), d.ID, orderID, true))
	require.Error(t, r.redeem(t.Context(), "disc_none", orderID, false))
	redemptions, held := r.counts(t, d.ID)
	require.Equal(t, []int{0, 0}, []int{redemptions, held})
	other := r.Register(t)
	err = postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error { return r.Discounts.RedeemTx(t.Context(), tx, other.TenantID, d.ID, false) })
	require.Error(t, err, "another tenant's")
}
