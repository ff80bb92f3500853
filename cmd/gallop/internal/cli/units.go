package cli

import (
	"errors"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// The types below are flag.Values, beside those of package commandline. The text of their errors follows the flag as it was typed:
// "--grace must be …".

// addrFlag is HOST:PORT, HOST, :PORT or PORT. It is empty if the flag was not given, and never
// set to empty: if a script's variable is unset, the server must not listen on all interfaces.
type addrFlag string

func (f *addrFlag) String() string { return string(*f) }
func (f *addrFlag) Set(s string) error {
	_, notNumber := strconv.ParseUint(s, 10, 64)
	if s == "" || notNumber == nil && !isPort(s) {
		return errors.New("must be HOST:PORT, HOST or :PORT with a port from 0 to 65535, not " + strconv.Quote(s))
	}
	*f = addrFlag(s)
	return nil
}

// portFlag is a TCP port.
type portFlag struct {
	port  string
	given bool
}

func (f *portFlag) String() string { return f.port }
func (f *portFlag) Set(s string) error {
	if !isPort(s) {
		return errors.New("must be a port from 0 to 65535, not " + strconv.Quote(s))
	}
	f.port, f.given = s, true
	return nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// listenAddress combines --addr and --port to HOST:PORT. It reports false if they name
// different ports.
func listenAddress(addr addrFlag, port portFlag) (string, bool) {
	if isPort(string(addr)) {
		addr = ":" + addr
	}
	host, own, err := net.SplitHostPort(string(addr))
	switch {
	case err != nil: // there is no port, or it is an IPv6 address without brackets
		return net.JoinHostPort(strings.Trim(string(addr), "[]"), port.port), true
	case own == "":
		return net.JoinHostPort(host, port.port), true
	}
	return string(addr), !port.given || own == port.port
}

// durationFlag is a positive duration with its unit, such as 500ms or 1m30s. A bare number
// is in seconds.
type durationFlag time.Duration

func (f *durationFlag) String() string {
	s := time.Duration(*f).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

func (f *durationFlag) Set(s string) error {
	text := s
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("must be a duration such as 30s, 1m30s or 500ms, not " + strconv.Quote(s))
	}
	*f = durationFlag(d)
	return nil
}

// sizeFlag is a positive number of bytes with its unit. k, M and G are powers of 1000; Ki, Mi
// and Gi are powers of 1024. A "B" may follow.
type sizeFlag int

func (f *sizeFlag) String() string {
	for _, u := range sizeUnits {
		if u.bytes > 1 && int64(*f)%u.bytes == 0 && *f > 0 {
			return strconv.FormatInt(int64(*f)/u.bytes, 10) + u.name + "B"
		}
	}
	return strconv.Itoa(int(*f))
}

// sizeUnits are the units, in the order in which String tries them.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"", 1},
}

func (f *sizeFlag) Set(s string) error {
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ReplaceAll(s, " ", ""), "b"), "B")
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(strings.ToLower(text), strings.ToLower(u.name))
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if size := n * float64(u.bytes); err == nil && size >= 1 && size <= math.MaxInt32 {
			*f = sizeFlag(size)
			return nil
		}
		break
	}
	return errors.New("must be a size below 2 GiB such as 500k, 4MiB or 1G, not " + strconv.Quote(s))
}
