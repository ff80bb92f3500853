package plan

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/gallop-http/gallop/internal/load/engine"
)

// options fills in how the engine connects.
func (f *File) options(p *Plan, t target) error {
	o := &p.Options
	*o = engine.Options{
		Network: "tcp", Address: t.address, Scheme: t.scheme, Authority: t.authority,
		PerConn: int(f.PerConn), Conns: int(f.Conns), Streams: int(f.Streams), Pipeline: int(f.Pipeline), Hold: int(f.Hold),
		Timeout: f.Request.Timeout.Duration, DialTimeout: f.DialTimeout.Duration, Threads: int(f.Threads), Grain: f.Grain.Duration,
		Redirects: int(f.Redirects), Seed: seedOf(f.Seed),
	}
	for name, n := range map[string]Count{"conns": f.Conns, "streams": f.Streams, "pipeline": f.Pipeline, "per-conn": f.PerConn, "hold": f.Hold, "threads": f.Threads, "redirects": f.Redirects} {
		if n > math.MaxInt32 {
			return fmt.Errorf("%s must be at most %d", name, math.MaxInt32)
		}
	}
	if f.Redirects > 0 {
		p.NeedClient = "redirects are followed"
	}
	return errors.Join(f.proto(o), f.address(o, t), f.local(o), f.tls(o), f.proxy(p))
}

func (f *File) proto(o *engine.Options) error {
	switch strings.ToLower(f.Proto) {
	case "", "auto":
	case "http1", "http/1.1", "h1":
		o.Proto = engine.HTTP1
	case "http2", "http/2", "h2", "h2c":
		o.Proto = engine.HTTP2
	default:
		return fmt.Errorf("proto must be auto, http1 or http2, not %q", f.Proto)
	}
	switch {
	case f.Pipeline > 1 && o.Proto == engine.HTTP2:
		return errors.New("pipeline is for http1; HTTP/2 has streams")
	case f.Streams > 0 && o.Proto == engine.HTTP1:
		return errors.New("streams are for http2; HTTP/1.1 has pipeline")
	}
	return nil
}

// address applies unix, connect-to and resolve.
func (f *File) address(o *engine.Options, t target) error {
	given := 0
	for _, s := range []string{f.Unix, f.ConnectTo, f.Resolve} {
		if s != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("unix, connect-to and resolve each say where to connect; leave two of them out")
	case f.Unix != "":
		o.Network, o.Address = "unix", f.Unix
	case f.ConnectTo != "":
		host, port, err := net.SplitHostPort(f.ConnectTo)
		if err != nil || port == "" {
			return fmt.Errorf("connect-to must be HOST:PORT, not %q", f.ConnectTo)
		}
		o.Address = net.JoinHostPort(host, port)
	case f.Resolve != "":
		// HOST:PORT:ADDRESS, as for curl
		parts := strings.SplitN(f.Resolve, ":", 3)
		if len(parts) < 3 {
			return fmt.Errorf("resolve must be HOST:PORT:ADDRESS, not %q", f.Resolve)
		}
		address, err := netip.ParseAddr(strings.Trim(parts[2], "[]"))
		if err != nil {
			return fmt.Errorf("resolve: %w", err)
		}
		if net.JoinHostPort(parts[0], parts[1]) != t.address {
			return fmt.Errorf("resolve is about %s:%s, and the target is %s", parts[0], parts[1], t.address)
		}
		o.Address = net.JoinHostPort(address.String(), parts[1])
	}
	return nil
}

// local checks the addresses to connect from. A prefix stands for all of its addresses.
func (f *File) local(o *engine.Options) error {
	for _, list := range f.Local {
		for s := range strings.SplitSeq(list, ",") {
			s = strings.TrimSpace(s)
			if address, err := netip.ParseAddr(s); err == nil {
				o.Local = append(o.Local, address.String())
				continue
			}
			prefix, err := netip.ParsePrefix(s)
			if err != nil || prefix.Addr().BitLen()-prefix.Bits() > 10 {
				return fmt.Errorf("local must be addresses, or prefixes of at most 1024 addresses such as 127.0.0.0/28, not %q", s)
			}
			for a := prefix.Masked().Addr(); prefix.Contains(a); a = a.Next() {
				o.Local = append(o.Local, a.String())
			}
		}
	}
	return nil
}

func (f *File) tls(o *engine.Options) error {
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("cert and key need each other")
	}
	if o.Scheme != "https" {
		if f.Insecure || f.Cert != "" || f.CA != "" || f.ServerName != "" {
			return errors.New("insecure, cert, key, ca and server-name are for targets with https://")
		}
		return nil
	}
	c := &tls.Config{InsecureSkipVerify: f.Insecure, ServerName: f.ServerName, ClientSessionCache: tls.NewLRUClientSessionCache(64)}
	if c.ServerName == "" {
		c.ServerName = hostOf(o.Authority)
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(join(f.dir, f.Cert), join(f.dir, f.Key))
		if err != nil {
			return fmt.Errorf("cert %s and key %s: %w", f.Cert, f.Key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if f.CA != "" {
		data, err := os.ReadFile(join(f.dir, f.CA))
		if err != nil {
			return fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return fmt.Errorf("ca: %s has no certificate in PEM", f.CA)
		}
	}
	o.TLS = c
	return nil
}

func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}

func (f *File) proxy(p *Plan) error {
	if f.Proxy == "" {
		return nil
	}
	u, err := url.Parse(f.Proxy)
	if err != nil || u.Host == "" {
		return fmt.Errorf("proxy must be a URL such as http://proxy:3128, not %q", f.Proxy)
	}
	if f.Unix != "" || f.ConnectTo != "" || f.Resolve != "" {
		return errors.New("a proxy resolves the target itself; leave unix, connect-to and resolve out")
	}
	p.Options.Proxy, p.NeedClient = u, "there is a proxy"
	return nil
}
