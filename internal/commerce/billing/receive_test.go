package billing_test

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/billing"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/apitest"
)

func TestReportsAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	eventID, body := s.event("account.updated", `{"id":"`+s.account+`"}`)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			got := s.report(t, body, connectSecret, time.Now())
			assert.Equal(t, http.StatusCreated, got.Status)
			assert.JSONEq(t, `{"received":true}`, string(got.Body))
		})
	}
	work.Wait()
	row, jobs := s.stored(t, eventID)
	require.Equal(t, 1, jobs)
	require.Nil(t, row.ProcessedAt)
	require.Equal(t, body, string(row.Payload), "as it came")
	require.Equal(t, s.account, *row.AccountID)

	s.report(t, body, "whsec_platform", time.Now()).Is(t, http.StatusCreated) // either secret will do
	s.work(t)
	row, _ = s.stored(t, eventID)
	require.NotNil(t, row.ProcessedAt)
	s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
	_, jobs = s.stored(t, eventID)
	require.Equal(t, 1, jobs)
}

func TestUnneededReportsAreAccepted(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	for _, kind := range []string{"payment_intent.succeeded", "made.up", "invoice.paid"} {
		eventID, body := s.event(kind, `{"text":"\u0000 and \ud83d\ude00"}`)
		s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
		row, jobs := s.stored(t, eventID)
		require.NotNil(t, row.ProcessedAt, kind)
		require.Equal(t, "{}", string(row.Payload), kind)
		require.Zero(t, jobs)
	}
	eventID, body := s.event("account.updated", `{}`)
	body = strings.Replace(body, `"account":"`+s.account+`",`, "", 1) // the platform's own
	s.report(t, body, "whsec_platform", time.Now()).Is(t, http.StatusCreated)
	row, jobs := s.stored(t, eventID)
	require.NotNil(t, row.ProcessedAt)
	require.Zero(t, jobs)
}

func TestUnsignedReportsAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	eventID, body := s.event("account.updated", `{}`)
	now := time.Now()
	s.report(t, body, "", now).Problem(t, http.StatusBadRequest, "invalid_input")
	s.report(t, body, "whsec_wrong", now).Problem(t, http.StatusBadRequest, "invalid_signature")
	s.report(t, body, connectSecret, now.Add(-6*time.Minute)).Problem(t, http.StatusBadRequest, "invalid_signature")
	s.report(t, "no event", connectSecret, now).Problem(t, http.StatusBadRequest, "invalid_input")
	s.report(t, "", connectSecret, now).Problem(t, http.StatusBadRequest, "invalid_input")
	for _, odd := range []string{
		`{"id":"evt_\u0000","type":"account.updated"}`, `{"id":"evt_1","type":"account.updated","account":"acct_\u0000"}`,
		"{\"id\":\"evt_\xff\",\"type\":\"account.updated\"}", `[]`, `{"id":{},"type":"account.updated"}`, `{"id":"evt_1"}`,
	} {
		s.report(t, odd, connectSecret, now).Problem(t, http.StatusBadRequest, "invalid_input")
	}
	s.report(t, body+strings.Repeat(" ", 1<<20), connectSecret, now).Problem(t, http.StatusRequestEntityTooLarge, "body_too_large")
	_, err := db.New(s.Pool).GetProcessorEvent(t.Context(), eventID)
	require.Error(t, err, "nothing was kept")
	s.report(t, body, connectSecret, now.Add(-4*time.Minute)).Is(t, http.StatusCreated)

	unconfigured := billing.New(billing.Config{Pool: s.Pool, Processor: processor.New(processor.Config{}), Log: slog.New(slog.DiscardHandler)})
	err = unconfigured.ReceiveProcessorEvent(t.Context(), []byte(body), "t=1,v1=00")
	require.True(t, problem.Is(err, "processor_unavailable"))
}

func TestOldReportsAreDeleted(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	now := s.Clock.Now()
	day := 24 * time.Hour
	keep := map[string]bool{}
	for name, e := range map[string]struct {
		age       time.Duration
		processed bool
		kept      bool
	}{
		"fresh": {29 * day, true, true}, "old": {31 * day, true, false}, "old, to do": {31 * day, false, true}, "abandoned": {91 * day, false, false},
	} {
		p := db.CreateProcessorEventParams{ID: name + s.account, Type: "account.updated", Payload: []byte("{}"), ReceivedAt: now.Add(-e.age)}
		if e.processed {
			p.ProcessedAt = &p.ReceivedAt
		}
		_, err := db.New(s.Pool).CreateProcessorEvent(t.Context(), p)
		require.NoError(t, err)
		keep[p.ID] = e.kept
	}
	require.NoError(t, s.Billing.DeleteOld(t.Context()))
	for eventID, kept := range keep {
		_, err := db.New(s.Pool).GetProcessorEvent(t.Context(), eventID)
		require.Equal(t, kept, err == nil, eventID)
	}
}
