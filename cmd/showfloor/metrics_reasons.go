package main

import "github.com/prometheus/client_golang/prometheus"

// countsByReason is a counter with the label "reason" whose values are read at
// each scrape.
type countsByReason struct {
	desc *prometheus.Desc
	read func() map[string]uint64
}

// countReasons adds a counter with one value for each reason that read returns.
func (m *metrics) countReasons(name, help string, read func() map[string]uint64) {
	m.registry.MustRegister(&countsByReason{prometheus.NewDesc("showfloor_"+name, help, []string{"reason"}, nil), read})
}

// Describe implements prometheus.Collector.
func (c *countsByReason) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *countsByReason) Collect(ch chan<- prometheus.Metric) {
	for reason, n := range c.read() {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, float64(n), reason)
	}
}
