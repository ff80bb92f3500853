package target

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/gallop-http/gallop/internal/ascii"
)

// ErrIDN is returned by ASCIIHost.
var ErrIDN = errors.New("gallop: the host is not a valid internationalized domain name (RFC 5891, UTS 46)")

// ASCIIHost returns host, which may contain a port, in ASCII. It converts other characters as in
// http://bücher.example/ to the form of RFC 5891, after the mapping of UTS 46: xn--bcher-kva.example.
func ASCIIHost(host string) (string, error) {
	if ascii.IsASCII(host) {
		return host, nil
	}
	name, port, found := strings.Cut(host, ":")
	name, err := idna.Lookup.ToASCII(name)
	if found {
		name += ":" + port
	}
	if err != nil || !utf8.ValidString(host) || !ValidHost([]byte(name)) {
		return "", ErrIDN
	}
	return name, nil
}
