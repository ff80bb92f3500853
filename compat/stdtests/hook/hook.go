//go:build overlaid

package hook

import (
	"net/http"
	"os"
	"sync"
)

func init() {
	switch os.Getenv("STDTESTS_SIDE") {
	case "server":
		hookServer()
	case "client":
		hookTransport()
	}
}

// used records that gallop is in use.
var used = sync.OnceFunc(func() {
	if name := os.Getenv("STDTESTS_USED"); name != "" {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			panic(err)
		}
	}
})

// wantsHTTP2 reports whether a server or a transport was set up for HTTP/2, for which net/http stays in use.
func wantsHTTP2(registered bool, p *http.Protocols) bool {
	return registered || p != nil && (p.HTTP2() || p.UnencryptedHTTP2())
}
