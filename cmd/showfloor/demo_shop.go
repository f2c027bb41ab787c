package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
)

// The demo's show: how long a discount and an auction run, and how often the host shows another product.
const (
	demoDropLife    = 10 * time.Minute
	demoAuctionLife = 3 * time.Minute
	demoNextProduct = 20 * time.Second
)

// demoShop is the state of the demo's show.
type demoShop struct {
	// owner is the token of the tenant's owner, host that of the show's host.
	owner, host string
	products    []api.Product
	recordingID string
}

// demoProducts are the products of the demo's show, whose pictures this server has.
func (d *demo) demoProducts() []api.ProductInput {
	input := func(sku, name, description string, cents, before, stock int64) api.ProductInput {
		picture := d.url + "/assets/demo-" + sku + ".svg"
		in := api.ProductInput{
			ExternalID: "DEMO-" + strings.ToUpper(sku), Name: name, Description: &description, PriceCents: cents, Stock: &stock,
			ImageURL: nullable.NewNullableWithValue(picture),
		}
		if before > 0 {
			in.CompareAtCents = nullable.NewNullableWithValue(before)
		}
		return in
	}
	return []api.ProductInput{
		input("mug", "Blue mug", "Stoneware, 350 ml, dishwasher-safe.", 1999, 2499, 40),
		input("scarf", "Wool scarf", "Merino wool, 180 cm, woven in Portugal.", 4900, 0, 8),
		input("lamp", "Reading lamp", "Warm light, three levels, with a dimmer.", 6900, 8900, 3),
		input("vase", "Tall vase", "Hand-thrown, one of a kind.", 12000, 0, 1),
	}
}

// openShop makes the tenant a seller with a brand and products.
func (d *demo) openShop(ctx context.Context) error {
	brand := api.BrandPatch{
		LogoURL:      nullable.NewNullableWithValue(d.url + "/assets/demo-mug.svg"),
		PrimaryColor: nullable.NewNullableWithValue("#7a2048"), AccentColor: nullable.NewNullableWithValue("#e8a33d"),
	}
	name := "Acme Live"
	answer, err := d.api.UpdateTenantWithResponse(ctx, api.TenantPatch{Name: &name, Brand: &brand}, bearer(d.shop.owner))
	if err != nil {
		return fmt.Errorf("set the brand: %w", err)
	}
	if answer.JSON200 == nil {
		return fmt.Errorf("set the brand: %w", refused(answer.StatusCode(), answer.ApplicationProblemJSONDefault))
	}
	for _, in := range d.demoProducts() {
		product, err := created(d.api.UpsertProductWithResponse(ctx, in, bearer(d.apiKey)))
		if err != nil {
			return fmt.Errorf("create a product: %w", err)
		}
		d.shop.products = append(d.shop.products, *product)
		d.line("product", fmt.Sprintf("%s, %d.%02d %s, %d in stock", product.Name, product.PriceCents/100, product.PriceCents%100,
			product.Currency, product.Stock))
	}
	return d.onboard(ctx)
}

// onboard becomes a seller at the sandbox. With a real payment processor a person has to do that, so it prints the link.
func (d *demo) onboard(ctx context.Context) error {
	back := d.url + "/sandbox/"
	link, err := created(d.api.CreateOnboardingLinkWithResponse(ctx, api.OnboardingLinkInput{ReturnURL: back, RefreshURL: back}, bearer(d.shop.owner)))
	if err != nil {
		return fmt.Errorf("become a seller: %w", err)
	}
	if !strings.HasPrefix(link.OnboardingURL, d.url+"/sandbox/") {
		d.line("seller", "open this link to take payments: "+link.OnboardingURL)
		return nil
	}
	if err := d.fillIn(ctx, link.OnboardingURL, url.Values{"action": {"finish"}, "name": {"Acme Live"}, "email": {"owner@acme.example"}}); err != nil {
		return fmt.Errorf("become a seller: %w", err)
	}
	err = poll(ctx, func(ctx context.Context) (bool, error) {
		status, err := d.api.GetConnectStatusWithResponse(ctx, bearer(d.apiKey))
		return err == nil && status.JSON200 != nil && status.JSON200.ChargesEnabled, err
	})
	if err != nil {
		return fmt.Errorf("wait until the seller may take payments: %w", err)
	}
	d.line("seller", "may take payments in the sandbox")
	return nil
}

// fillIn opens a page of the sandbox and sends its form, as a browser does: the page sets a cookie that the form needs.
func (d *demo) fillIn(ctx context.Context, page string, form url.Values) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return fmt.Errorf("make a cookie jar: %w", err)
	}
	browser := &http.Client{Timeout: demoRequestTimeout, Jar: jar}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		request, err := http.NewRequestWithContext(ctx, method, page, strings.NewReader(form.Encode()))
		if err != nil {
			return fmt.Errorf("request %s: %w", page, err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(request)
		if err != nil {
			return fmt.Errorf("open %s: %w", page, err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("open %s: the server answered %d", page, answer.StatusCode)
		}
	}
	return nil
}

// invite prints the links of the show's host and of a viewer.
func (d *demo) invite(ctx context.Context) error {
	for _, p := range []struct {
		role                api.ParticipantRole
		userID, name, title string
		page                string
	}{
		{api.ParticipantRoleHost, "ada", "Ada Okafor", "host", "studio"},
		{api.ParticipantRoleViewer, "bo", "Bo Lindqvist", "viewer", "shopping"},
	} {
		token, err := created(d.api.CreateSfuTokenWithResponse(ctx, d.stream.ID, api.SfuTokenInput{
			Role: &p.role, UserID: &p.userID, DisplayName: &p.name,
		}, bearer(d.apiKey)))
		if err != nil {
			return fmt.Errorf("invite the %s: %w", p.title, err)
		}
		if p.role == api.ParticipantRoleHost {
			d.shop.host = token.Token
		}
		d.line(p.title, fmt.Sprintf("%s/scenarios/%s/?room=%s&token=%s", d.url, p.page, d.stream.ID, token.Token))
	}
	return nil
}

// sell shows a product, drops a discount and starts an auction. Then it shows one product after the other until ctx ends.
func (d *demo) sell(ctx context.Context) error {
	host := bearer(d.shop.host)
	if err := d.pin(ctx, 0); err != nil {
		return err
	}
	drop, err := created(d.api.DropShowDiscountWithResponse(ctx, d.stream.ID, api.DiscountDropInput{
		Code: "DEMO20", PercentOff: 20, DurationSec: int(demoDropLife.Seconds()),
	}, host))
	if err != nil {
		return fmt.Errorf("drop a discount: %w", err)
	}
	d.line("discount", fmt.Sprintf("%s, %d%% off", drop.Code, drop.PercentOff))
	last := d.shop.products[len(d.shop.products)-1]
	auction, err := created(d.api.CreateShowAuctionWithResponse(ctx, d.stream.ID, api.ShowAuctionInput{
		ProductID: last.ID, StartingBidCents: 2000, BidIncrementCents: 500, DurationSec: int(demoAuctionLife.Seconds()),
	}, host))
	if err != nil {
		return fmt.Errorf("start an auction: %w", err)
	}
	d.line("auction", fmt.Sprintf("%s, until %s", last.Name, auction.EndsAt.Local().Format(time.TimeOnly)))
	d.line("on air", "until you press Ctrl-C")
	next := time.NewTicker(demoNextProduct)
	defer next.Stop()
	for shown := 1; ; shown++ {
		select {
		case <-ctx.Done():
			return nil
		case <-d.encoder.ended:
			return d.encoder.failure()
		case <-next.C:
			if err := d.pin(ctx, shown%(len(d.shop.products)-1)); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// pin shows one of the products to all viewers.
func (d *demo) pin(ctx context.Context, i int) error {
	product := d.shop.products[i]
	answer, err := d.api.PinShowProductWithResponse(ctx, d.stream.ID, api.ShowPinInput{ProductID: nullable.NewNullableWithValue(product.ID)},
		bearer(d.shop.host))
	if err != nil {
		return fmt.Errorf("show a product: %w", err)
	}
	if answer.JSON200 == nil {
		return fmt.Errorf("show a product: %w", refused(answer.StatusCode(), answer.ApplicationProblemJSONDefault))
	}
	d.line("shown", product.Name)
	return nil
}

// replay waits for the recording, and prints the link of the replay.
func (d *demo) replay(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // Ctrl-C ended only the show
	if err := d.encoder.stop(); err != nil {
		return err
	}
	ended, err := d.await(ctx, api.StreamStatusENDED)
	if err != nil {
		return err
	}
	d.line("status", string(ended.Status))
	err = poll(ctx, func(ctx context.Context) (bool, error) {
		answer, err := d.api.ListStreamRecordingsWithResponse(ctx, d.stream.ID, nil, bearer(d.apiKey))
		if err != nil || answer.JSON200 == nil || len(*answer.JSON200) == 0 {
			return false, err
		}
		newest := (*answer.JSON200)[0]
		if newest.Status == api.RecordingStatusFAILED {
			return false, errors.New("the recording has failed: look at the server's log")
		}
		d.shop.recordingID = newest.ID
		return newest.Status == api.RecordingStatusREADY, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the recording: %w", err)
	}
	d.line("replay", d.url+"/scenarios/shopping/?vod="+d.shop.recordingID)
	return nil
}
