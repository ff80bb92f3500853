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

// knownHost is the last valid Host on a connection, if it is not longer.
type knownHost struct {
	host [48]byte
	n    uint8
}

// isValid is target.ValidHost, which says again what it said last.
func (k *knownHost) isValid(host []byte) bool {
	return k.n > 0 && string(host) == string(k.host[:k.n]) || k.learn(host)
}

// learn is isValid of another host, which is the known one then if it is valid.
func (k *knownHost) learn(host []byte) bool {
	if !target.ValidHost(host) {
		return false
	}
	if k.n = 0; len(host) <= len(k.host) {
		k.n = uint8(copy(k.host[:], host))
	}
	return true
}
