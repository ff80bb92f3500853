package dial

import (
	"encoding/base64"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/target"
)

// Proxy holds the parts of a proxy's URL.
type Proxy struct {
	Scheme         string // http, https or socks5
	Addr           string // host:port
	User, Password string
}

// ParseProxy parses the URL of a proxy. The port defaults to the usual port of the scheme.
func ParseProxy(u *url.URL) (*Proxy, error) {
	p := &Proxy{Scheme: u.Scheme}
	port := u.Port()
	byDefault := ""
	switch u.Scheme {
	case "http":
		byDefault = "80"
	case "https":
		byDefault = "443"
	case "socks5", "socks5h":
		p.Scheme, byDefault = "socks5", "1080"
	default:
		return nil, ErrProxyScheme
	}
	if port == "" {
		port = byDefault
	}
	p.Addr = net.JoinHostPort(u.Hostname(), port)
	if _, _, err := SplitAddr(p.Addr); err != nil {
		return nil, ErrProxyURL
	}
	p.User = u.User.Username()
	p.Password, _ = u.User.Password()
	return p, nil
}

// Authorization returns the value of the Proxy-Authorization header: set, or if set is empty, the credentials of the
// proxy (RFC 7617). It returns "" if there are no credentials.
func (p *Proxy) Authorization(set string) (value string, err error) {
	switch {
	case set != "":
		value = set
	case p.User == "" && p.Password == "":
	case strings.Contains(p.User, ":"): // RFC 7617 §2
		return "", ErrProxyCredentials
	default:
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User+":"+p.Password))
	}
	if !ascii.IsFieldValue(value) {
		return "", ErrProxyCredentials
	}
	return value, nil
}

// Target is what a proxy is asked to connect to: a name, or an IP address if name is empty.
type Target struct {
	name string
	ip   netip.Addr
	port uint16
}

// ParseTarget parses host:port. The result is safe to send to a proxy. A name consists of unreserved
// characters only; the sub-delims and escapes that RFC 3986 §3.2.2 also allows are refused.
func ParseTarget(addr string) (to Target, err error) {
	host, port, err := SplitAddr(addr)
	if err != nil {
		return to, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return to, ErrProxyTarget
		}
		return Target{ip: ip.Unmap(), port: port}, nil
	}
	name, _, ok := target.ParseAuthority([]byte(addr))
	if !ok || string(name) != host || len(host) > 255 {
		return to, ErrProxyTarget
	}
	return Target{name: host, port: port}, nil
}

// String returns the authority form of the target (RFC 9112 §3.2.3).
func (to Target) String() string {
	if to.name == "" {
		return netip.AddrPortFrom(to.ip, to.port).String()
	}
	return net.JoinHostPort(to.name, strconv.Itoa(int(to.port)))
}
