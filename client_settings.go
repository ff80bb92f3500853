package gallop

import (
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/http1"
)

// Defaults of Client and HostClient.
const (
	// DefaultMaxConnsPerHost is the default limit on open connections to one host.
	DefaultMaxConnsPerHost = 512

	// DefaultMaxIdleConnDuration is how long an idle connection is kept by default.
	DefaultMaxIdleConnDuration = 10 * time.Second

	// DefaultMaxIdemponentCallAttempts is the default of HostClient.MaxIdemponentCallAttempts. The number of attempts
	// includes the first attempt of a call.
	DefaultMaxIdemponentCallAttempts = 5

	// DefaultMaxResponseBodySize is the default limit on response bodies that are read into memory, in bytes.
	DefaultMaxResponseBodySize = 64 << 20

	defaultUserAgent    = "gallop"
	defaultClientBuffer = 4 << 10
	maxResponseFields   = 1024
)

// ConnPoolStrategyType is the order in which a client reuses idle connections.
type ConnPoolStrategyType int

const (
	// LIFO reuses the connection that was used most recently, so that few connections stay open.
	LIFO ConnPoolStrategyType = iota

	// FIFO reuses the connection that has been idle longest, so that all connections are used in turn.
	FIFO
)

func (s ConnPoolStrategyType) isKnown() bool { return s == LIFO || s == FIFO }

// clientSettings are the fields of a HostClient with their defaults filled in. They
// are not written to once calls are made.
type clientSettings struct {
	agent string

	readBuf                   int
	head                      http1.Limits
	maxBody                   int64
	readTimeout, writeTimeout time.Duration // 0: none
	handshake, continueWait   time.Duration // 0: none, and no wait
	stream                    bool
	names                     headerFlags // of received headers: namesAsGiven or none

	maxConns, maxIdle        int
	maxIdleTime, maxConnTime time.Duration // 0: none
	connWait                 time.Duration // 0: not at all, negative: as long as the call may take
	strategy                 ConnPoolStrategyType

	attempts int
	detailed bool // calls fail with a *ClosedError

	trace     *ClientTrace
	onInterim func(*Response)
}

// A Client and a PipelineClient have most of the fields of a HostClient. options copies the fields to the HostClient that
// makes the connections, and resolve fills in the defaults. Fields are paired by their names, so a new field is copied
// without further code.

var (
	clientOptions = optionsOf[Client](map[string]string{
		"MaxConnsPerHost":     "MaxConns",
		"MaxIdleConnsPerHost": "MaxIdleConns",
	})

	// A PipelineClient has limits of its own for a connection that many calls share.
	pipelineOptions = optionsOf[PipelineClient](map[string]string{
		"MaxConns": "", "ReadTimeout": "", "WriteTimeout": "", "WriteBufferSize": "",
	})
)

// options are the options that a HostClient takes from a client of type T.
type options[T any] []optionPair

// optionPair has the index of a field of T, and the index of the field of HostClient that gets its value.
type optionPair struct{ from, to int }

// optionsOf returns a function that pairs the exported fields of T with those of HostClient. The keys of renamed are
// the fields that HostClient names differently. If the name is "", no field of HostClient gets the value.
func optionsOf[T any](renamed map[string]string) func() options[T] {
	return sync.OnceValue(func() (pairs options[T]) {
		client, host := reflect.TypeFor[T](), reflect.TypeFor[HostClient]()
		for i := range client.NumField() {
			name := client.Field(i).Name
			if other, ok := renamed[name]; ok {
				name = other
			}
			if field, ok := host.FieldByName(name); ok && field.IsExported() {
				pairs = append(pairs, optionPair{i, field.Index[0]})
			}
		}
		return pairs
	})
}

// copy copies the options of from to a HostClient.
func (o options[T]) copy(to *HostClient, from *T) {
	source, target := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for _, pair := range o {
		target.Field(pair.to).Set(source.Field(pair.from))
	}
}

// resolve returns the settings of c, with the defaults filled in.
func (c *HostClient) resolve() *clientSettings {
	maxHead := min(orDefault(c.MaxResponseHeaderBytes, orDefault(c.ReadBufferSize, defaultClientBuffer)), math.MaxInt32)
	s := &clientSettings{
		agent:        c.Name,
		readBuf:      min(orDefault(c.ReadBufferSize, defaultClientBuffer), maxHead),
		head:         http1.Limits{Head: maxHead, Target: maxHead, Fields: maxResponseFields},
		maxBody:      int64(c.MaxResponseBodySize),
		readTimeout:  max(c.ReadTimeout, 0),
		writeTimeout: max(c.WriteTimeout, 0),
		handshake:    orNone(c.TLSHandshakeTimeout, maxClientHandshake),
		continueWait: orNone(c.ExpectContinueTimeout, maxContinueWait),
		stream:       c.StreamResponseBody,
		maxConns:     orDefault(c.MaxConns, DefaultMaxConnsPerHost),
		maxIdle:      orNone(c.MaxIdleConns, math.MaxInt), // MaxConns, which may change
		maxIdleTime:  orNone(c.MaxIdleConnDuration, DefaultMaxIdleConnDuration),
		maxConnTime:  max(c.MaxConnDuration, 0),
		connWait:     c.MaxConnWaitTimeout,
		strategy:     c.ConnPoolStrategy,
		attempts:     orDefault(c.MaxIdemponentCallAttempts, DefaultMaxIdemponentCallAttempts),
		detailed:     c.DetailedErrors,
		trace:        c.trace,
		onInterim:    c.OnInterim,
	}
	if c.TLSHandshakeTimeout == 0 && s.writeTimeout > 0 {
		s.handshake = min(s.handshake, s.writeTimeout)
	}
	if s.agent == "" && !c.NoDefaultUserAgentHeader {
		s.agent = defaultUserAgent
	}
	if c.DisableHeaderNamesNormalizing {
		s.names = namesAsGiven
	}
	switch {
	case s.maxBody == 0:
		s.maxBody = DefaultMaxResponseBodySize
	case s.maxBody < 0:
		s.maxBody = math.MaxInt64
	}
	return s
}
