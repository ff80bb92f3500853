package serve

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// fact is a line of the start panel.
type fact struct{ name, text string }

// writePanel says where and how the site is served: in a panel for people, and in a
// line for logs.
func (s *site) writePanel(addr net.Addr) {
	urls := s.urls(addr)
	what := s.what()
	if !isTerminal(s.Stderr) {
		fmt.Fprintf(s.Stderr, "gallop: serving %s at %s\n", what, strings.Join(urls, " "))
		return
	}
	io.WriteString(s.Stderr, s.panel(urls, what, hasColour(s.Stderr, s.Getenv)))
}

func (s *site) panel(urls []string, what string, colour bool) string {
	bold, dim, link, off := "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"
	if !colour {
		bold, dim, link, off = "", "", "", ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %sgallop%s %s%s · %s%s\n\n", bold, off, dim, s.Version, runtime.Version(), off)
	for i, url := range urls {
		name := "Network"
		if i == 0 {
			name = "Open"
		}
		fmt.Fprintf(&b, "  %s%-10s%s %s%s%s\n", dim, name, off, link, url, off)
	}
	for _, f := range s.facts(what) {
		fmt.Fprintf(&b, "  %s%-10s%s %s\n", dim, f.name, off, f.text)
	}
	fmt.Fprintf(&b, "\n  %sCtrl-C stops when all requests are answered, twice at once.%s\n\n", dim, off)
	return b.String()
}

// what returns what is served.
func (s *site) what() string {
	if s.EchoAll {
		return "echoes of all requests"
	}
	dir := s.Dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if quoted := strconv.Quote(dir); quoted[1:len(quoted)-1] != dir {
		return quoted
	}
	return dir
}

func (s *site) facts(what string) []fact {
	protocol := "HTTP/1.1"
	if s.CertFile != "" {
		protocol += " over TLS"
	}
	facts := []fact{
		{"Serving", what},
		{"Transport", protocol + ", " + transport()},
		{"Limits", fmt.Sprintf("head %s within %v · body %s · idle %v · %d connections",
			appendSize(nil, int64(s.server.MaxHeaderBytes)), s.server.ReadHeaderTimeout,
			appendSize(nil, int64(s.server.MaxRequestBodySize)), s.server.IdleTimeout.Truncate(time.Second), s.server.Concurrency)},
		{"Access log", s.Log + " on the standard output"},
	}
	if s.Log == "off" {
		facts[len(facts)-1].text = "off"
	}
	switch {
	case s.EchoAll:
	case s.Hidden:
		facts = append(facts, fact{"Note", "names that begin with a dot are served, too"})
	default:
		facts = append(facts, fact{"Note", "names that begin with a dot are hidden; --hidden shows them"})
	}
	if s.Echo && !s.EchoAll {
		facts = append(facts, fact{"Echo", "/_gallop/echo"})
	}
	return facts
}

// transport returns how connections are served: what gallop.EngineAuto means for a TCP listener here.
func transport() string {
	if runtime.GOOS == "linux" {
		return "event loops"
	}
	return "a goroutine per connection"
}

// urls returns the addresses to open, that of this machine first.
func (s *site) urls(addr net.Addr) []string {
	scheme := "http://"
	if s.CertFile != "" {
		scheme = "https://"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return []string{scheme + addr.String() + "/"}
	}
	hosts := []string{host}
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		hosts = append([]string{"localhost"}, localAddresses()...)
	} else if named, _, _ := net.SplitHostPort(s.Addr); named != "" {
		hosts[0] = named
	}
	for i, h := range hosts {
		hosts[i] = scheme + net.JoinHostPort(h, port) + "/"
	}
	return hosts
}

// localAddresses returns addresses under which others in the network reach this machine.
func localAddresses() (list []string) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() && len(list) < 4 {
			list = append(list, n.IP.String())
		}
	}
	return list
}

// isTerminal reports whether somebody may be looking at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// hasColour reports whether w is for colours: a terminal, unless NO_COLOR is set
// (no-color.org).
func hasColour(w io.Writer, getenv func(string) string) bool {
	return isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}
