package gallop

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/gallop-http/gallop/internal/target"
)

// Hosts beyond ASCII, as in http://bücher.example/, are sent and looked up in the form
// that RFC 5891 gives them, after the mapping of UTS 46: xn--bcher-kva.example. Servers
// get to see nothing else.

func isASCII[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// asciiHost returns a host, which may have a port, in ASCII.
func asciiHost(host string) (string, error) {
	if isASCII(host) {
		return host, nil
	}
	name, port, found := strings.Cut(host, ":")
	name, err := idna.Lookup.ToASCII(name)
	if found {
		name += ":" + port
	}
	if err != nil || !utf8.ValidString(host) || !target.ValidHost([]byte(name)) {
		return "", errIDN
	}
	return name, nil
}

// settleURI makes the URI one that can be sent.
func (req *Request) settleURI() error {
	if err := req.parseURI(); err != nil {
		return err
	}
	return req.uri.toASCII()
}

// toASCII makes the host of u one that can be sent.
func (u *URI) toASCII() error {
	if isASCII(u.host) {
		return nil
	}
	host, err := asciiHost(string(u.host))
	if err == nil {
		u.host = append(u.host[:0], host...)
	}
	return err
}
