package shop

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/order"
	"showfloor/internal/shows/show"
	"showfloor/internal/tenancy"
)

// CheckoutInput is what a participant buys; the handler has checked its limits.
type CheckoutInput struct {
	Lines []catalog.Line
	// DiscountCode is empty for none.
	DiscountCode, CustomerEmail string
	CustomerName                *string
	// ReturnURL is nil for the hosted page of the show.
	ReturnURL *string
}

// CreateCheckout creates an order of the calling participant with a payment page, as order.CreateCheckout does. If units are missing that
// the participant's own unpaid orders hold, these orders are closed first. Afterwards the oldest of too many is closed.
func (s *Service) CreateCheckout(ctx context.Context, c tenancy.Caller, showID string, in CheckoutInput) (order.Checkout, error) {
	target, err := s.config.Shows.FindBuyer(ctx, c, showID)
	if err != nil {
		return order.Checkout{}, err
	}
	if err := checkGuest(c, in.Lines); err != nil {
		return order.Checkout{}, err
	}
	back, err := s.returnURL(ctx, c, target, in.ReturnURL)
	if err != nil {
		return order.Checkout{}, err
	}
	buyer := order.Buyer{TenantID: c.TenantID, StreamID: target.StreamID, CustomerID: c.Participant.UserID}
	if err := s.config.Orders.LimitUnpaid(ctx, buyer, maxUnpaid); err != nil {
		return order.Checkout{}, err
	}
	cart := order.Cart{
		Lines: in.Lines, StreamID: &target.StreamID, CustomerEmail: in.CustomerEmail, CustomerExternalID: c.Participant.UserID,
		CustomerName: in.CustomerName, DiscountCode: in.DiscountCode,
		SuccessURL: withResult(back, "success"), CancelURL: withResult(back, "cancelled"),
	}
	made, err := s.config.Orders.CreateCheckout(ctx, c, cart)
	if problem.Is(err, "insufficient_stock") {
		freed, freeErr := s.config.Orders.FreeUnits(ctx, buyer, in.Lines)
		if freeErr != nil || !freed {
			return made, cmp.Or(freeErr, err)
		}
		made, err = s.config.Orders.CreateCheckout(ctx, c, cart)
	}
	if err == nil {
		// Only now: a refused checkout leaves the former ones as they are. If it fails, the next checkout closes the oldest order.
		_ = s.config.Orders.LimitUnpaid(context.WithoutCancel(ctx), buyer, maxUnpaid)
	}
	return made, err
}

// returnURL is the page to which the buyer returns. Others than this server's and those of the tenant's websites are refused:
// otherwise the payment page would lead buyers to anywhere.
func (s *Service) returnURL(ctx context.Context, c tenancy.Caller, target show.Target, given *string) (*url.URL, error) {
	own, err := url.Parse(s.config.PublicURL)
	if err != nil {
		return nil, err
	}
	if given == nil {
		own.Path += "/scenarios/shopping/"
		if target.RecordingID != "" {
			own.RawQuery = url.Values{"vod": {target.RecordingID}}.Encode()
		} else {
			own.RawQuery = url.Values{"room": {target.StreamID}}.Encode()
		}
		return own, nil
	}
	refused := problem.BadField("returnUrl", "must be a page of this server or of one of the tenant's embedOrigins")
	back, err := url.Parse(*given)
	if err != nil || back.User != nil {
		return nil, refused
	}
	if origin(back) == origin(own) {
		return back, nil
	}
	tenant, err := s.config.Accounts.GetTenant(ctx, c)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(tenant.EmbedOrigins, origin(back)) {
		return nil, refused
	}
	return back, nil
}

// origin is the origin of a URL in the form of embedOrigins: in lower case, without the scheme's own port.
func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[scheme])
	return scheme + "://" + host
}

// withResult adds the result of a checkout to the query of a URL.
func withResult(u *url.URL, result string) string {
	to := *u
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += "checkout=" + result
	return to.String()
}
