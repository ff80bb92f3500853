package gallop

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/gallop-http/gallop/internal/target"
)

// A host with other characters than ASCII, as in http://bücher.example/, is sent and looked up in the form of RFC 5891
// after the mapping of UTS 46: xn--bcher-kva.example.

// isASCII reports whether all bytes of s are ASCII.
func isASCII[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// asciiHost returns host, which may contain a port, in ASCII.
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

// toASCII converts the host of u to ASCII.
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

// knownHost remembers the last valid Host of a connection, unless that is longer than 48 bytes. Most requests on a
// connection repeat the same Host, which then is not checked again.
type knownHost struct {
	host [48]byte
	n    uint8
}

// isValid reports whether host is valid. See target.ValidHost.
func (k *knownHost) isValid(host []byte) bool {
	return k.n > 0 && string(host) == string(k.host[:k.n]) || k.learn(host)
}

// learn checks a host that is not the known one, and remembers it if it is valid.
func (k *knownHost) learn(host []byte) bool {
	if !target.ValidHost(host) {
		return false
	}
	if k.n = 0; len(host) <= len(k.host) {
		k.n = uint8(copy(k.host[:], host))
	}
	return true
}
