package metrics

import (
	"github.com/gallop-http/gallop"
	"github.com/prometheus/client_golang/prometheus"
)

// A counter is a value of [gallop.ServerStats] as a metric.
type counter struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s *gallop.ServerStats) uint64
}

// NewServerCollector returns a collector for the connections of a server. The metrics have the prefix "gallop_". For several servers,
// wrap the registerer with prometheus.WrapRegistererWith to add a label.
func NewServerCollector(server *gallop.Server) prometheus.Collector {
	c := &collector{server: server}
	c.gauge("connections", "Open connections.", func(s *gallop.ServerStats) uint64 { return s.Connections })
	c.gauge("connections_active", "Connections with a request in progress.", func(s *gallop.ServerStats) uint64 { return s.Active })
	c.gauge("connections_idle", "Connections that wait for a request.", func(s *gallop.ServerStats) uint64 { return s.Idle })
	c.gauge("connections_handshaking", "Connections in a TLS handshake.", func(s *gallop.ServerStats) uint64 { return s.Handshaking })
	c.gauge("requests_running", "Requests whose handler is running or whose response is being written.", func(s *gallop.ServerStats) uint64 { return s.Running })
	c.count("connections_accepted_total", "Accepted connections.", func(s *gallop.ServerStats) uint64 { return s.Accepted })
	c.count("connections_rejected_concurrency_total", "Connections rejected because of Concurrency.", func(s *gallop.ServerStats) uint64 { return s.RejectedConcurrency })
	c.count("connections_rejected_per_ip_total", "Connections rejected because of MaxConnsPerIP.", func(s *gallop.ServerStats) uint64 { return s.RejectedPerIP })
	c.count("requests_total", "Requests whose header has arrived.", func(s *gallop.ServerStats) uint64 { return s.Requests })
	c.count("requests_refused_total", "Requests that the server refused.", func(s *gallop.ServerStats) uint64 { return s.Refused })
	c.count("read_bytes_total", "Bytes read from connections.", func(s *gallop.ServerStats) uint64 { return s.BytesRead })
	c.count("written_bytes_total", "Bytes written to connections.", func(s *gallop.ServerStats) uint64 { return s.BytesWritten })
	c.count("handlers_on_loop_total", "Handlers that ran on an event loop.", func(s *gallop.ServerStats) uint64 { return s.Loop.Inline })
	c.count("handlers_off_loop_total", "Handlers that event loops passed to goroutines.", func(s *gallop.ServerStats) uint64 { return s.Loop.Pooled })
	c.count("handlers_moved_total", "Handlers that blocked their event loop, which went on without them.", func(s *gallop.ServerStats) uint64 { return s.Moved })
	return c
}

// collector implements prometheus.Collector.
type collector struct {
	server   *gallop.Server
	counters []counter
}

func (c *collector) gauge(name, help string, value func(s *gallop.ServerStats) uint64) {
	c.add(name, help, prometheus.GaugeValue, value)
}

func (c *collector) count(name, help string, value func(s *gallop.ServerStats) uint64) {
	c.add(name, help, prometheus.CounterValue, value)
}

func (c *collector) add(name, help string, kind prometheus.ValueType, value func(s *gallop.ServerStats) uint64) {
	c.counters = append(c.counters, counter{prometheus.NewDesc("gallop_"+name, help, nil, nil), kind, value})
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, n := range c.counters {
		descs <- n.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	stats := c.server.Stats()
	for _, n := range c.counters {
		metrics <- prometheus.MustNewConstMetric(n.desc, n.kind, float64(n.value(&stats)))
	}
}
