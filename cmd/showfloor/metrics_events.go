package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"showfloor/internal/outflow/event"
)

// waitingEvents collects how many events of all nodes wait for their webhook deliveries to be
// written, and the age of the oldest.
type waitingEvents struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// watchEvents adds the metrics of events that wait for their deliveries; now is the events' clock.
func (m *metrics) watchEvents(pool *pgxpool.Pool, now func() time.Time) {
	m.registry.MustRegister(&waitingEvents{pool: pool, now: now})
}

func (*waitingEvents) descs() (events, age *prometheus.Desc) {
	return prometheus.NewDesc("showfloor_events_waiting", "Events whose webhook deliveries are not written yet.", nil, nil),
		prometheus.NewDesc("showfloor_events_waiting_seconds", "Age of the oldest event whose webhook deliveries are not written yet.", nil, nil)
}

// Describe implements prometheus.Collector.
func (w *waitingEvents) Describe(ch chan<- *prometheus.Desc) {
	events, age := w.descs()
	ch <- events
	ch <- age
}

// Collect implements prometheus.Collector.
func (w *waitingEvents) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	events, age := w.descs()
	backlog, err := event.CountWaiting(ctx, w.pool, w.now())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(events, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(events, prometheus.GaugeValue, float64(backlog.Events))
	ch <- prometheus.MustNewConstMetric(age, prometheus.GaugeValue, backlog.Age.Seconds())
}
