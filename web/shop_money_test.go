package web_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// TestMoneyIsShownByCurrencyAndLanguage: yen have no decimals, dinars three; so have the currencies that the processor treats otherwise
// than Intl does.
func TestMoneyIsShownByCurrencyAndLanguage(t *testing.T) {
	t.Parallel()
	for language, cases := range map[string][]struct {
		Cents    int
		Currency string
		Shown    string
	}{
		"en-GB": {
			{123450, "eur", "€1,234.50"}, {1234, "jpy", "JP¥1,234"}, {1234560, "kwd", "KWD 1,234.560"}, {500, "isk", "ISK 5.00"},
			{500, "ugx", "UGX 5.00"}, {1999, "huf", "HUF 19.99"}, {5, "krw", "₩5"}, {1000, "xof", "F CFA 1,000"},
		},
		"de-DE": {{123450, "eur", "1.234,50 €"}, {1234, "jpy", "1.234 ¥"}, {1234560, "kwd", "1.234,560 KWD"}},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			v := openModule(t, "shopping/money.ts", language)
			for _, c := range cases {
				raw, err := json.Marshal(c)
				require.NoError(t, err)
				require.Equal(t, c.Shown, browsertest.Value[string](t, v.tab,
					`(({Cents, Currency}) => module.money(Cents, Currency).replace(/[\u00a0\u202f]/g, " "))(`+string(raw)+`)`), "%s", raw)
			}
		})
	}
}

// TestTypedMoneyIsRead: amounts in German and English notation become the currency's smallest unit. An amount that isn't clear, or that
// the processor can't charge, is refused.
func TestTypedMoneyIsRead(t *testing.T) {
	t.Parallel()
	const wrong = -1
	for language, cases := range map[string]map[string]map[string]int{
		"de-DE": {
			"eur": {
				"1.234,50": 123450, "1234,5": 123450, "1.234": 123400, "1234.50": 123450, "12,50 €": 1250, "1 234,50": 123450, "5,-": 500, "EUR 5": 500, "Fr.5": 500,
				"1,234": wrong, "1,2,3": wrong, "1,234,50": wrong, "1.234,567": wrong, "": wrong, "x": wrong, "-5": wrong, "−5": wrong, ",50": wrong, "1e5": wrong, "5 x 3": wrong, "0,005": wrong,
			},
			"jpy": {"1.234": 1234, "1234": 1234, "1.234.567": 1234567, "1234,00": 1234, "25,00": 25, "1,234": wrong, "12,5": wrong},
			"kwd": {"1.234,560": 1234560, "1,5": 1500, "1,500": 1500, "1.500": 1500000, "12": 12000, "1,234": wrong, "1,2345": wrong},
			"isk": {"5": 500, "5,00": 500, "5,50": wrong},
		},
		"en-GB": {
			"eur": {"1,234.50": 123450, "1234.5": 123450, "1,234": 123400, "£12.50": 1250, "1’234.50": 123450, "1.234": wrong, ".50": wrong, "1..5": wrong,
				"1.234,567": wrong, "1.234,567.89": wrong,
			},
			"jpy": {"1,234": 1234, "¥1,234": 1234, "1.234": wrong, "12.00": 12},
			"kwd": {"1,234.560": 1234560, "1.500": 1500, "1,500": 1500000, "KWD 2.25": 2250, "1.234": wrong},
			"ugx": {"5,000": 500000, "5,000.50": wrong},
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			v := openModule(t, "shopping/money.ts", language)
			for currency, amounts := range cases {
				for typed, cents := range amounts {
					raw, err := json.Marshal([]string{typed, currency})
					require.NoError(t, err)
					require.Equal(t, cents, browsertest.Value[int](t, v.tab, `module.parseMoney(...`+string(raw)+`) ?? -1`), "%s", raw)
				}
			}
		})
	}
}

// priced makes a show of one auctioned product in a currency.
func priced(t *testing.T, currency string, cents, step int) *shopScript {
	t.Helper()
	s := newShopScript(t)
	vase := aProduct("vase", "Tall vase", cents, 3)
	vase["currency"] = currency
	auction := anAuction(time.Hour)
	auction["currency"], auction["topBidCents"], auction["bidIncrementCents"], auction["minimumBidCents"] = currency, cents, step, cents+step
	s.show["products"], s.show["auctions"], s.show["pinnedProductId"] = []message{vase}, []message{auction}, "prod_vase"

	return s
}

// TestShopBidsInCurrenciesOfOtherDecimals: the price, the next bid and a typed bid in German notation are in yen without decimals, and
// in dinars with three. The hint for a wrong amount is one that the field takes.
func TestShopBidsInCurrenciesOfOtherDecimals(t *testing.T) {
	t.Parallel()
	for currency, c := range map[string]struct {
		cents, step        int
		price, next        string
		wrong, hint, typed string
		bid                float64
	}{
		"jpy": {12000, 500, "12.000\u00a0¥", "12.500\u00a0¥ bieten", "13.000,5", "etwa 25\u00a0¥", "13.000", 13000},
		"kwd": {12500, 250, "12,500\u00a0KWD", "12,750\u00a0KWD bieten", "13,0005", "etwa 25,000\u00a0KWD", "1.013,500", 1013500},
		"eur": {123400, 50, "1.234,00\u00a0€", "1.234,50\u00a0€ bieten", "1,234,50", "etwa 25,00\u00a0€", "1.234,50", 123450},
	} {
		t.Run(currency, func(t *testing.T) {
			t.Parallel()
			s := priced(t, currency, c.cents, c.step)
			p := newShopper(t, s, "")
			p.speaks("de-DE")
			p.opens()
			p.reads(c.price)
			p.clicks("1 Produkt")
			p.waits(`document.querySelector("dialog[open] .price")?.textContent.includes("` + c.price + `")`)
			p.presses(kb.Escape)
			p.waits(noSheet)
			p.reads(c.next)
			p.clicks("Anderer Betrag")
			p.types("Ihr Gebot", c.wrong)
			p.presses(kb.Enter)
			p.reads(c.hint)
			p.types("Ihr Gebot", c.typed)
			p.presses(kb.Enter)
			p.reads("Sie haben das Höchstgebot")
			require.InDelta(t, c.bid, s.seen("bids")[0]["amountCents"], 0)
		})
	}
}

// TestStudioStartsAuctionsInCurrenciesOfOtherDecimals: the studio shows prices and reads the amounts of a new auction by the same rules.
func TestStudioStartsAuctionsInCurrenciesOfOtherDecimals(t *testing.T) {
	t.Parallel()
	for currency, c := range map[string]struct {
		cents                 int
		price, wrong, hint    string
		starting, step        string
		startCents, stepCents float64
	}{
		"jpy": {12000, "12.000\u00a0¥", "1,5", "zum Beispiel 25\u00a0¥", "1.500", "100", 1500, 100},
		"kwd": {12500, "12,500\u00a0KWD", "1,2345", "zum Beispiel 25,000\u00a0KWD", "1.234,500", "0,250", 1234500, 250},
	} {
		t.Run(currency, func(t *testing.T) {
			t.Parallel()
			s := priced(t, currency, c.cents, 10)
			s.show["auctions"] = []message{}
			p := newShopper(t, s, "")
			p.speaks("de-DE")
			p.opensStudio()
			p.reads(c.price)
			p.clicks("Versteigern")
			p.types("Startgebot", c.wrong)
			p.presses(kb.Enter)
			p.reads(c.hint)
			p.types("Startgebot", c.starting)
			p.types("Schritt", c.step)
			p.presses(kb.Enter)
			p.waits(noSheet)
			started := s.seen("auctions")[0]
			require.InDelta(t, c.startCents, started["startingBidCents"], 0)
			require.InDelta(t, c.stepCents, started["bidIncrementCents"], 0)
		})
	}
}
