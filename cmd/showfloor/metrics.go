package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/jobs"
)

// metrics is everything that /metrics shows.
type metrics struct {
	registry   *prometheus.Registry
	http       *prometheus.HistogramVec
	deliveries *prometheus.HistogramVec
	mails      *prometheus.CounterVec
	orders     *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		http: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "showfloor_http_request_seconds", Help: "Time to answer HTTP requests, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"method", "route", "status"}),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "showfloor_webhook_attempt_seconds", Help: "Time of webhook attempts, by outcome.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"outcome"}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_mail_attempts_total", Help: "Attempts to send mails, by outcome.",
		}, []string{"outcome"}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_orders_total",
			Help: "Checkouts that were begun (PENDING), and orders that were paid or expired, on this node, by status.",
		}, []string{"status"}),
	}
	m.registry.MustRegister(m.http, m.deliveries, m.mails, m.orders,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observeHTTP counts a request; the route is a pattern, so there are few.
func (m *metrics) observeHTTP(method, route string, status int, took time.Duration) {
	m.http.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// observeDelivery counts a webhook attempt.
func (m *metrics) observeDelivery(outcome string, took time.Duration) {
	m.deliveries.WithLabelValues(outcome).Observe(took.Seconds())
}

// observeMail counts an attempt to send a mail.
func (m *metrics) observeMail(outcome string) { m.mails.WithLabelValues(outcome).Inc() }

// observeOrder counts an order that was made, paid or expired.
func (m *metrics) observeOrder(status string) { m.orders.WithLabelValues(status).Inc() }

// watch adds what is read when somebody looks.
func (m *metrics) watch(pool *pgxpool.Pool, h *hub.Hub, playlists *hls.Server, ingest *rtmp.Server) {
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "showfloor_" + name, Help: help}, read))
	}
	counter := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "showfloor_" + name, Help: help}, read))
	}
	gauge("streams_live", "Streams that are on air on this node.", func() float64 { return float64(len(h.Streams())) })
	gauge("viewers", "Players that watch on this node.", func() float64 {
		n := 0
		for _, s := range h.Streams() {
			n += s.Stats().Viewers
		}
		return float64(n)
	})
	counter("media_bytes_in_total", "Media bytes received from publishers.", func() float64 { in, _ := h.Traffic(); return float64(in) })
	counter("media_bytes_out_total", "Media bytes sent to viewers.", func() float64 { _, out := h.Traffic(); return float64(out) })
	gauge("hls_blocked_requests", "Requests that wait for a playlist or part.", func() float64 { return float64(playlists.Stats().Blocked) })
	gauge("hls_media_bytes", "Memory that parts and segments take.", func() float64 { return float64(playlists.Stats().MediaBytes) })
	gauge("rtmp_connections", "Open RTMP connections.", func() float64 { return float64(ingest.Stats().Connections) })
	counter("rtmp_accepted_total", "Publishers that were let in.", func() float64 { return float64(ingest.Stats().Accepted) })
	counter("rtmp_refused_total", "Connections that the ingest ended, for any reason.", func() float64 {
		var n uint64
		for _, c := range ingest.Stats().Refused {
			n += c
		}
		return float64(n)
	})
	gauge("pool_connections", "Open database connections.", func() float64 { return float64(pool.Stat().TotalConns()) })
	gauge("pool_acquired", "Database connections in use.", func() float64 { return float64(pool.Stat().AcquiredConns()) })
	counter("pool_waits_total", "Times that somebody waited for a database connection.", func() float64 {
		return float64(pool.Stat().EmptyAcquireCount())
	})
	m.registry.MustRegister(&jobCounts{pool: pool})
}

// jobCounts asks the queue how many jobs are in which state.
type jobCounts struct{ pool *pgxpool.Pool }

// scrapeTimeout bounds the query behind a scrape.
const scrapeTimeout = 2 * time.Second

func (*jobCounts) desc() *prometheus.Desc {
	return prometheus.NewDesc("showfloor_jobs", "Jobs in the queue, by kind and state.", []string{"kind", "state"}, nil)
}

// Describe implements prometheus.Collector.
func (j *jobCounts) Describe(ch chan<- *prometheus.Desc) { ch <- j.desc() }

// Collect implements prometheus.Collector.
func (j *jobCounts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	counts, err := jobs.Counts(ctx, j.pool)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(j.desc(), err)
		return
	}
	for _, c := range counts {
		ch <- prometheus.MustNewConstMetric(j.desc(), prometheus.GaugeValue, float64(c.N), c.Kind, c.State)
	}
}
