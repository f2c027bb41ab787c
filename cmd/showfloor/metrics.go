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
	"showfloor/internal/media/sfu"
	"showfloor/internal/realtime"
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

// watchSFU adds what rooms do.
func (m *metrics) watchSFU(rooms *sfu.Server) {
	gauge := func(name, help string, read func(st sfu.Stats) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "showfloor_" + name, Help: help},
			func() float64 { return read(rooms.Stats()) }))
	}
	counter := func(name, help string, read func(st sfu.Stats) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "showfloor_" + name, Help: help},
			func() float64 { return read(rooms.Stats()) }))
	}
	gauge("sfu_rooms", "Rooms with somebody in them on this node.", func(st sfu.Stats) float64 { return float64(st.Rooms) })
	gauge("sfu_participants", "Participants in rooms on this node.", func(st sfu.Stats) float64 { return float64(st.Participants) })
	gauge("sfu_tracks", "Tracks that are published in rooms on this node.", func(st sfu.Stats) float64 { return float64(st.Tracks) })
	counter("sfu_accepted_total", "Connections that were let into rooms.", func(st sfu.Stats) float64 { return float64(st.Accepted) })
	counter("sfu_refused_total", "Connections that were turned away from rooms, or ended by the server.", func(st sfu.Stats) float64 {
		var n uint64
		for _, c := range st.Refused {
			n += c
		}
		return float64(n)
	})
	counter("sfu_packets_in_total", "RTP packets from those who publish.", func(st sfu.Stats) float64 { return float64(st.PacketsIn) })
	counter("sfu_bytes_in_total", "Bytes of these packets.", func(st sfu.Stats) float64 { return float64(st.BytesIn) })
	counter("sfu_packets_out_total", "RTP packets to subscribers over UDP.", func(st sfu.Stats) float64 { return float64(st.PacketsOut) })
	counter("sfu_nacks_total", "Requests of subscribers to repeat packets.", func(st sfu.Stats) float64 { return float64(st.Nacks) })
	counter("sfu_key_frames_total", "Requests for key frames to publishers.", func(st sfu.Stats) float64 { return float64(st.KeyFrames) })
	counter("sfu_packets_dropped_total", "RTP packets that were too many.", func(st sfu.Stats) float64 { return float64(st.Dropped) })
	counter("sfu_packets_malformed_total", "RTP packets with redundancy (RED) that couldn't be read.",
		func(st sfu.Stats) float64 { return float64(st.Malformed) })
}

// watchRealtime adds the figures of the realtime channel.
func (m *metrics) watchRealtime(channel *realtime.Server) {
	gauge := func(name, help string, read func(st realtime.Stats) int) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "showfloor_" + name, Help: help},
			func() float64 { return float64(read(channel.Stats())) }))
	}
	counter := func(name, help string, read func(st realtime.Stats) uint64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "showfloor_" + name, Help: help},
			func() float64 { return float64(read(channel.Stats())) }))
	}
	gauge("realtime_connections", "Clients that are connected to the realtime channel of this node.",
		func(st realtime.Stats) int { return st.Connections })
	gauge("realtime_subscriptions", "Rooms that these clients hear, counted once for each client.",
		func(st realtime.Stats) int { return st.Subscriptions })
	counter("realtime_publications_total", "Publications that this node made.",
		func(st realtime.Stats) uint64 { return st.Publications })
	counter("realtime_messages_total", "Publications that this node sent, counted once for each client.",
		func(st realtime.Stats) uint64 { return st.Messages })
	counter("realtime_dropped_total", "Publications that could not be carried.",
		func(st realtime.Stats) uint64 { return st.Dropped })
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
