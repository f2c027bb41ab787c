package main

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/internal/media/hls"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
	"showfloor/internal/media/sfu"
	"showfloor/internal/outflow/push/provider"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy/usage"
	"showfloor/jobs"
)

// metrics holds all metrics of /metrics.
type metrics struct {
	registry   *prometheus.Registry
	http       *prometheus.HistogramVec
	deliveries *prometheus.HistogramVec
	mails      *prometheus.CounterVec
	orders     *prometheus.CounterVec
	mediaJobs  *prometheus.CounterVec
	pushes     *prometheus.CounterVec
	speech     *prometheus.CounterVec
	storage    *prometheus.HistogramVec
	stored     *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		http: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "showfloor_http_request_seconds", Help: "Time to answer HTTP requests, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route", "status"}),
		deliveries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "showfloor_webhook_attempt_seconds", Help: "Time of webhook attempts, by outcome.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
		}, []string{"outcome"}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_mail_attempts_total", Help: "Attempts to send mails, by outcome.",
		}, []string{"outcome"}),
		mediaJobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_media_jobs_total",
			Help: "Transcodes and packages that are over, by their kind and their status: COMPLETED, FAILED or CANCELED.",
		}, []string{"kind", "status"}),
		pushes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_pushes_total", Help: "Pushes to devices, by provider (ios-push or cloud-push) and outcome.",
		}, []string{"provider", "outcome"}),
		speech: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_utterances_total", Help: "Pieces of speech in sessions with transcription, by what the model for speech answered.",
		}, []string{"outcome"}),
		orders: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_orders_total",
			Help: "Checkouts that were begun (PENDING), orders that were paid, expired or put into REVIEW, " +
				"and payments that belong to no order (UNMATCHED), on this node, by status.",
		}, []string{"status"}),
		storage: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "showfloor_storage_seconds",
			Help:    "Time of operations on files, with their retries, by operation and outcome. serve and open include the time of the reader.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120},
		}, []string{"operation", "outcome"}),
		stored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "showfloor_storage_bytes_total", Help: "Bytes of files that were written (put) and read (open, serve), by operation.",
		}, []string{"operation"}),
	}
	m.registry.MustRegister(m.http, m.deliveries, m.mails, m.orders, m.mediaJobs, m.pushes, m.speech, m.storage, m.stored,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observeHTTP counts a request. route is a pattern, so it has few values.
func (m *metrics) observeHTTP(method, route string, status int, took time.Duration) {
	m.http.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// observeDelivery counts a webhook attempt.
func (m *metrics) observeDelivery(outcome string, took time.Duration) {
	m.deliveries.WithLabelValues(outcome).Observe(took.Seconds())
}

// observeMail counts an attempt to send a mail.
func (m *metrics) observeMail(outcome string) { m.mails.WithLabelValues(outcome).Inc() }

// observeOrder counts an order's new status.
func (m *metrics) observeOrder(status string) { m.orders.WithLabelValues(status).Inc() }

// observeMediaJob counts the last status of a transcode or package.
func (m *metrics) observeMediaJob(kind, status string) {
	m.mediaJobs.WithLabelValues(kind, status).Inc()
}

// observePush counts an answer of a push provider.
func (m *metrics) observePush(name provider.Name, outcome provider.Outcome) {
	m.pushes.WithLabelValues(string(name), string(outcome)).Inc()
}

// observeSpeech counts an utterance.
func (m *metrics) observeSpeech(outcome string) { m.speech.WithLabelValues(outcome).Inc() }

// observeStorage counts an operation on files.
func (m *metrics) observeStorage(o blob.Operation) {
	m.storage.WithLabelValues(o.Name, o.Outcome).Observe(o.Took.Seconds())
	if n := o.Read + o.Written; n > 0 {
		m.stored.WithLabelValues(o.Name).Add(float64(n))
	}
}

// gauge adds a gauge whose value is read at each scrape.
func (m *metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "showfloor_" + name, Help: help}, read))
}

// counter adds a counter whose value is read at each scrape.
func (m *metrics) counter(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "showfloor_" + name, Help: help}, read))
}

// watch adds the metrics of streams and the database.
func (m *metrics) watch(pool *pgxpool.Pool, h *hub.Hub, playlists *hls.Server, ingest *rtmp.Server) {
	m.gauge("streams_live", "Streams that are on air on this node.", func() float64 { return float64(len(h.Streams())) })
	m.gauge("viewers", "Players that watch on this node.", func() float64 {
		n := 0
		for _, s := range h.Streams() {
			n += s.Stats().Viewers
		}
		return float64(n)
	})
	m.counter("media_bytes_in_total", "Media bytes received from publishers.", func() float64 { in, _ := h.Traffic(); return float64(in) })
	m.counter("media_bytes_out_total", "Media bytes sent to viewers.", func() float64 { _, out := h.Traffic(); return float64(out) })
	m.gauge("hls_blocked_requests", "Requests that wait for a playlist or part.", func() float64 { return float64(playlists.Stats().Blocked) })
	m.counter("hls_overloaded_total", "Requests for playlists and parts that were refused because too many waited for the stream.",
		func() float64 { return float64(playlists.Stats().Overloaded) })
	m.counter("hls_refused_sessions_total", "Viewers' sessions that were refused because their network has too many with the stream.",
		func() float64 { return float64(playlists.Stats().RefusedSessions) })
	m.gauge("hls_media_bytes", "Memory that parts and segments take.", func() float64 { return float64(playlists.Stats().MediaBytes) })
	m.gauge("rtmp_connections", "Open RTMP connections.", func() float64 { return float64(ingest.Stats().Connections) })
	m.counter("rtmp_accepted_total", "Publishers that were accepted.", func() float64 { return float64(ingest.Stats().Accepted) })
	m.gauge("rtmp_publishing", "RTMP connections of encoders that are on air.", func() float64 { return float64(ingest.Stats().Publishing) })
	m.countReasons("rtmp_refused_total", "RTMP connections that the server refused or closed, by reason.",
		func() map[string]uint64 { return ingest.Stats().Refused })
	m.gauge("pool_connections", "Open database connections.", func() float64 { return float64(pool.Stat().TotalConns()) })
	m.gauge("pool_acquired", "Database connections in use.", func() float64 { return float64(pool.Stat().AcquiredConns()) })
	m.counter("pool_waits_total", "Times that a query waited for a database connection.", func() float64 {
		return float64(pool.Stat().EmptyAcquireCount())
	})
	m.registry.MustRegister(&jobCounts{pool: pool})
}

// watchCluster adds the metrics of the built-in database.
func (m *metrics) watchCluster(cluster *embedded.Server) {
	m.counter("postgres_restarts_total", "Times that the built-in PostgreSQL ended by itself and was started again.",
		func() float64 { return float64(cluster.Restarts()) })
}

// watchSFU adds the metrics of rooms.
func (m *metrics) watchSFU(rooms *sfu.Server) {
	m.gauge("sfu_rooms", "Rooms with participants on this node.", func() float64 { return float64(rooms.Stats().Rooms) })
	m.gauge("sfu_participants", "Participants in rooms on this node.", func() float64 { return float64(rooms.Stats().Participants) })
	m.gauge("sfu_watchers", "Viewers of shopping pages in rooms on this node, see SFU_MAX_VIEWERS.",
		func() float64 { return float64(rooms.Stats().Watchers) })
	m.gauge("sfu_tracks", "Tracks that are published in rooms on this node.", func() float64 { return float64(rooms.Stats().Tracks) })
	m.counter("sfu_accepted_total", "Connections that were admitted to rooms.", func() float64 { return float64(rooms.Stats().Accepted) })
	m.counter("sfu_refused_total", "Connections that the server refused or ended.", func() float64 {
		var n uint64
		for _, c := range rooms.Stats().Refused {
			n += c
		}
		return float64(n)
	})
	m.countReasons("sfu_fallbacks_total", "Participants of streams' rooms who were sent to HLS, by code.",
		func() map[string]uint64 { return rooms.Stats().Fallbacks })
	m.counter("sfu_packets_in_total", "RTP packets received from publishers.", func() float64 { return float64(rooms.Stats().PacketsIn) })
	m.counter("sfu_bytes_in_total", "Bytes of RTP packets received from publishers.", func() float64 { return float64(rooms.Stats().BytesIn) })
	m.counter("sfu_packets_out_total", "RTP packets to subscribers over UDP.", func() float64 { return float64(rooms.Stats().PacketsOut) })
	m.counter("sfu_nacks_total", "Requests of subscribers to repeat packets.", func() float64 { return float64(rooms.Stats().Nacks) })
	m.counter("sfu_key_frames_total", "Requests for key frames to publishers.", func() float64 { return float64(rooms.Stats().KeyFrames) })
	m.counter("sfu_packets_dropped_total", "Packets that were dropped: above the rate limit, or faster than they were read.",
		func() float64 { return float64(rooms.Stats().Dropped) })
	m.counter("sfu_packets_malformed_total", "RTP packets with redundancy (RED) that couldn't be read.",
		func() float64 { return float64(rooms.Stats().Malformed) })
	m.gauge("sfu_relay_sockets", "UDP sockets that the relay (TURN) has open for its clients.",
		func() float64 { return float64(rooms.Stats().RelaySockets) })
	m.counter("sfu_panics_total", "Panics in rooms that were recovered: bugs of the server, whose stacks are in the log.",
		func() float64 { return float64(rooms.Stats().Panics) })
}

// watchUsage adds the metrics of the usage collector.
func (m *metrics) watchUsage(c *usage.Collector) {
	m.gauge("usage_intervals_waiting", "Closed intervals of usage that are not written to the database yet.",
		func() float64 { return float64(c.Stats().Waiting) })
	m.counter("usage_intervals_written_total", "Intervals of usage that were written.",
		func() float64 { return float64(c.Stats().Written) })
	m.counter("usage_intervals_merged_total", "Intervals of usage that were merged into another one because too many waited for the database.",
		func() float64 { return float64(c.Stats().Merged) })
	m.counter("usage_intervals_lost_total", "Intervals of usage that were dropped because their resource doesn't exist.",
		func() float64 { return float64(c.Stats().Lost) })
	m.counter("usage_write_failures_total", "Attempts to write usage that failed; they are repeated.",
		func() float64 { return float64(c.Stats().Failures) })
}

// watchRealtime adds the metrics of the realtime channel.
func (m *metrics) watchRealtime(channel *realtime.Server) {
	m.gauge("realtime_connections", "Clients that are connected to the realtime channel of this node.",
		func() float64 { return float64(channel.Stats().Connections) })
	m.gauge("realtime_subscriptions", "Rooms to which these clients are subscribed, counted once for each client.",
		func() float64 { return float64(channel.Stats().Subscriptions) })
	m.counter("realtime_publications_total", "Publications that this node made.",
		func() float64 { return float64(channel.Stats().Publications) })
	m.counter("realtime_messages_total", "Publications that this node sent, counted once for each client.",
		func() float64 { return float64(channel.Stats().Messages) })
	m.counter("realtime_dropped_total", "Publications that were dropped because they could not be delivered.",
		func() float64 { return float64(channel.Stats().Dropped) })
}

// jobCounts collects the number of jobs in each state of the queue.
type jobCounts struct{ pool *pgxpool.Pool }

// scrapeTimeout limits the query of a scrape.
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
