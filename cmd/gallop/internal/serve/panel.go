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

// writePanel says where the site is and who can reach it: in a panel on a terminal, in plain lines
// elsewhere.
func (s *site) writePanel(addr net.Addr) {
	urls := s.urls(addr)
	text := s.lines(urls, addr)
	if isTerminal(s.Stderr) {
		text = s.panel(urls, addr, hasColour(s.Stderr, s.Getenv))
	}
	io.WriteString(s.Stderr, text)
}

// lines returns the start message for logs.
func (s *site) lines(urls []string, addr net.Addr) string {
	text := fmt.Sprintf("gallop: serving %s at %s\n", s.source(), strings.Join(urls, " "))
	if who, how := s.reach(addr); how != "" {
		text += fmt.Sprintf("gallop: %s; %s\n", who, how)
	}
	return text
}

func (s *site) panel(urls []string, addr net.Addr, colour bool) string {
	bold, dim, link, warn, off := "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[0m"
	if !colour {
		bold, dim, link, warn, off = "", "", "", "", ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %sgallop%s %s%s · %s%s\n\n", bold, off, dim, s.Version, runtime.Version(), off)
	if who, how := s.reach(addr); how == "" {
		fmt.Fprintf(&b, "  %s\n\n", sentence(who))
	} else {
		fmt.Fprintf(&b, "  %s%s%s\n  %s\n\n", warn, sentence(who), off, sentence(how))
	}
	for i, url := range urls {
		name := "Network"
		if i == 0 {
			name = "Open"
		}
		fmt.Fprintf(&b, "  %s%-10s%s %s%s%s\n", dim, name, off, link, url, off)
	}
	for _, f := range s.facts() {
		fmt.Fprintf(&b, "  %s%-10s%s %s\n", dim, f.name, off, f.text)
	}
	fmt.Fprintf(&b, "\n  %sCtrl-C lets in-flight requests finish; press it again to stop at once.%s\n\n", dim, off)
	return b.String()
}

// sentence returns s with a capital letter and a full stop.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// reach says who can reach the server, and, unless that is this machine alone, how to change it.
func (s *site) reach(addr net.Addr) (who, how string) {
	host, _, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(strings.Split(host, "%")[0]); ip.IsLoopback() {
		return "only this machine can reach this server", ""
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	return "every machine on your network can reach this server",
		"to keep it to this machine, use --addr " + net.JoinHostPort("localhost", port)
}

// source returns the directory as it is printed.
func (s *site) source() string {
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

func (s *site) facts() []fact {
	protocol := "HTTP/1.1"
	if s.CertFile != "" {
		protocol += " over TLS"
	}
	facts := []fact{
		{"Serving", s.source()},
		{"Transport", protocol + ", " + transport()},
		{"Limits", fmt.Sprintf("headers %s within %v · body %s · idle %v · %d connections",
			appendSize(nil, int64(s.server.MaxHeaderBytes)), s.server.ReadHeaderTimeout,
			appendSize(nil, int64(s.server.MaxRequestBodySize)), s.server.IdleTimeout.Truncate(time.Second), s.server.Concurrency)},
	}
	if s.Log == "off" {
		facts = append(facts, fact{"Access log", "off"})
	} else {
		facts = append(facts, fact{"Access log", s.Log + " on standard output"})
	}
	if s.EchoAll {
		return facts
	}
	if s.Hidden {
		facts = append(facts, fact{"Dotfiles", "served"})
	} else {
		facts = append(facts, fact{"Dotfiles", "hidden; --hidden shows them"})
	}
	if s.SPA {
		facts = append(facts, fact{"Fallback", "/" + indexName + " for paths without a file"})
	}
	if s.CORS {
		facts = append(facts, fact{"CORS", "pages of any origin can read the files"})
	}
	if s.Echo {
		facts = append(facts, fact{"Echo", "/_gallop/echo"})
	}
	return facts
}

// transport returns how connections are served. It says what gallop.EngineAuto means for a TCP listener on this system.
func transport() string {
	if runtime.GOOS == "linux" {
		return "event loops"
	}
	return "a goroutine per connection"
}

// urls returns the URLs of the site. The first one works on this machine.
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

// localAddresses returns up to four IPv4 addresses of this machine in its networks.
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

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// hasColour reports whether to write colours to w: it is a terminal and NO_COLOR is not set
// (no-color.org).
func hasColour(w io.Writer, getenv func(string) string) bool {
	return isTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}
