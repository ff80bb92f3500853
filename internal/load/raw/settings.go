package raw

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/schedule"
	"github.com/gallop-http/gallop/internal/load/script"
)

// settings are the options of a run with their defaults filled in.
type settings struct {
	engine.Options
	target  string // the address to connect to, without names
	local   []netip.Addr
	tls     *tls.Config // nil: no TLS
	http2   bool
	threads int
	anyOpen bool // some scenario has an open loop
}

const (
	defaultTimeout     = 60 * time.Second
	defaultDialTimeout = 10 * time.Second
	defaultMaxBody     = 1 << 20
	defaultStreams     = 100
)

// newSettings checks the options, resolves addresses, and makes sure that this machine can hold the connections.
func newSettings(ctx context.Context, o *engine.Options, scenarios []engine.Scenario) (*settings, error) {
	s := &settings{Options: *o}
	s.fill()
	for i := range scenarios {
		if err := check(&scenarios[i]); err != nil {
			return nil, err
		}
		s.anyOpen = s.anyOpen || scenarios[i].Load.Executor.Open()
	}
	for _, address := range s.Local {
		addr, err := netip.ParseAddr(address)
		if err != nil {
			return nil, fmt.Errorf("raw: local address: %w", err)
		}
		s.local = append(s.local, addr)
	}
	if s.Scheme == "https" {
		s.setTLS()
	}
	var err error
	if s.target, err = s.resolve(ctx); err != nil {
		return nil, fmt.Errorf("raw: target %s: %w", s.Address, err)
	}
	s.http2 = s.Proto == engine.HTTP2
	if s.Proto == engine.Auto && s.tls != nil {
		s.http2 = s.offersHTTP2(ctx)
	}
	return s, s.checkMachine(scenarios)
}

// fill fills in defaults.
func (s *settings) fill() {
	if s.Network == "" {
		s.Network = "tcp"
	}
	if s.Authority == "" {
		s.Authority = s.Address
		if s.Network == "unix" {
			s.Authority = "localhost"
		}
	}
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	if s.DialTimeout <= 0 {
		s.DialTimeout = defaultDialTimeout
	}
	if s.MaxBody <= 0 {
		s.MaxBody = defaultMaxBody
	}
	if s.Streams <= 0 {
		s.Streams = defaultStreams
	}
	s.Pipeline = max(s.Pipeline, 1)
	s.threads = max(s.Threads, 1)
	if s.Conns > 0 {
		s.threads = min(s.threads, s.Conns)
	}
}

// check refuses loads that make no sense.
func check(s *engine.Scenario) error {
	const mostRate = 1e9 // times are in nanoseconds
	rates := []float64{s.Load.Rate}
	for _, stage := range s.Load.Stages {
		rates = append(rates, stage.Target)
		if stage.Duration < 0 {
			return fmt.Errorf("raw: scenario %s: a stage has a negative duration", s.Name)
		}
	}
	for _, rate := range rates {
		if !(rate >= 0 && rate <= mostRate) {
			return fmt.Errorf("raw: scenario %s: a target or rate of %v is out of range", s.Name, rate)
		}
	}
	if len(s.Script.Names()) == 0 {
		return fmt.Errorf("raw: scenario %s has no requests", s.Name)
	}
	return nil
}

// setTLS prepares the configuration of TLS.
func (s *settings) setTLS() {
	s.tls = &tls.Config{}
	if s.TLS != nil {
		s.tls = s.TLS.Clone()
	}
	if s.tls.ServerName == "" {
		s.tls.ServerName = s.Authority
		if host, _, err := net.SplitHostPort(s.Authority); err == nil {
			s.tls.ServerName = host
		}
	}
	switch s.Proto {
	case engine.HTTP1:
		s.tls.NextProtos = []string{"http/1.1"}
	case engine.HTTP2:
		s.tls.NextProtos = []string{"h2"}
	default:
		s.tls.NextProtos = []string{"h2", "http/1.1"}
	}
}

// resolve returns the address to connect to. If a name has several addresses, it is the first one that accepts connections.
func (s *settings) resolve(ctx context.Context) (string, error) {
	if s.Network == "unix" {
		return s.Address, nil
	}
	host, service, err := net.SplitHostPort(s.Address)
	if err != nil {
		return "", err
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return "", err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	targets := make([]string, len(addrs))
	for i, addr := range addrs {
		targets[i] = netip.AddrPortFrom(addr.Unmap(), uint16(port)).String()
	}
	if len(targets) > 1 {
		for _, target := range targets {
			if c, err := net.DialTimeout("tcp", target, s.DialTimeout); err == nil {
				c.Close()
				return target, nil
			}
		}
	}
	return targets[0], nil
}

// offersHTTP2 reports whether the server chooses HTTP/2 by ALPN. If it cannot be reached, that shows later.
func (s *settings) offersHTTP2(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.DialTimeout)
	defer cancel()
	d := tls.Dialer{Config: s.tls}
	nc, err := d.DialContext(ctx, s.Network, s.target)
	if err != nil {
		return false
	}
	defer nc.Close()
	return nc.(*tls.Conn).ConnectionState().NegotiatedProtocol == "h2"
}

// perConn returns how many requests this side has in flight on a connection at a time.
func (s *settings) perConn() int {
	if s.http2 {
		return s.Streams
	}
	return s.Pipeline
}

// ownConns reports whether each user has a connection of its own. The users of open loops share connections, so that a
// request that is due takes any idle one.
func (s *settings) ownConns() bool { return !s.http2 && s.Conns == 0 && s.Pipeline == 1 && !s.anyOpen }

// needs returns how many connections the run needs for sure. Open loops may need more.
func (s *settings) needs(scenarios []engine.Scenario) int {
	conns := s.Conns
	if conns == 0 {
		users := 0
		for i := range scenarios {
			if l := &scenarios[i].Load; l.Executor.Open() {
				users += l.VUs
			} else {
				users += schedule.NewUsers(l, schedule.Part{}).Most()
			}
		}
		conns = (users + s.perConn() - 1) / s.perConn()
		if s.http2 {
			conns = 1
		}
	}
	return conns + s.Hold
}

// isStateless reports whether one user serves for all requests of a script.
func isStateless(from script.Script) bool {
	_, ok := from.(script.Stateless)
	return ok
}

// checkMachine makes sure that there are enough descriptors and ports.
func (s *settings) checkMachine(scenarios []engine.Scenario) error {
	const besides = 64 // descriptors for everything else
	need := s.needs(scenarios)
	if have := raiseDescriptors(need + besides); have < need+besides {
		return fmt.Errorf("raw: local: the run needs %d connections, but this process may open only %d files (ulimit -n)", need, have)
	}
	addresses := max(len(s.local), 1)
	if ports := ephemeralPorts(); s.Network != "unix" && ports > 0 && need > ports*addresses {
		return fmt.Errorf("raw: local: the run needs %d connections, but %d local addresses have only %d ports; add local addresses", need, addresses, ports*addresses)
	}
	return nil
}
