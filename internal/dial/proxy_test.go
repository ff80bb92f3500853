package dial

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestProxyAddress(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://proxy.test":         "proxy.test:80",
		"https://proxy.test":        "proxy.test:443",
		"socks5://proxy.test":       "proxy.test:1080",
		"socks5h://[::1]":           "[::1]:1080",
		"http://me:pw@proxy.test:8": "proxy.test:8",
		"http://proxy.test:3128/x":  "proxy.test:3128",
	} {
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := ParseProxy(u); err != nil || p.Addr != want {
			t.Errorf("%s: %+v, %v", proxy, p, err)
		}
	}
}

// Our own parser accepts a CONNECT that we append.
func TestProxyConnectIsParsed(t *testing.T) {
	for _, addr := range []string{"host.test:443", "192.0.2.1:80", "[2001:db8::1]:65535"} {
		to, err := ParseTarget(addr)
		if err != nil {
			t.Fatal(err)
		}
		b := AppendConnect(nil, to, "Basic eA==")
		var head message.Head
		limits := http1.Limits{Target: 1024, Head: 4096, Fields: 8}
		n, err := new(http1.Parser).ParseRequest(&head, b, &limits)
		if n != len(b) || err != nil || head.MethodID != message.Connect || string(head.Fields.Bytes(head.Target)) != addr {
			t.Errorf("%s: %d of %d, %v", addr, n, len(b), err)
		}
	}
}

// The outcome does not depend on how the replies of a SOCKS proxy are split.
func FuzzProxySocksReply(f *testing.F) {
	const done = "\x05\x00\x00\x01\x7f\x00\x00\x01\x12\x34"
	f.Add([]byte("\x05\x00"+done+"early"), false)
	f.Add([]byte("\x05\x02\x01\x00"+done), true)
	f.Add([]byte("\x05\x00\x05\x00\x00\x03\x03abcxxy"), true)
	f.Fuzz(func(t *testing.T, answer []byte, byPassword bool) {
		to := Target{name: "host.test", port: 443}
		user := ""
		if byPassword {
			user = "me"
		}
		tw, t1 := tunnelTo(answer, len(answer)), tunnelTo(answer, 1)
		errW, err1 := tw.Socks5(to, user, "pw"), t1.Socks5(to, user, "pw")
		if fmt.Sprint(errW) != fmt.Sprint(err1) {
			t.Fatalf("whole: %v, cut: %v", errW, err1)
		}
		if errW == nil {
			wiretest.CompareRest(t, tw.Finish(), t1.Finish(), answer)
		}
	})
}

// tunnelTo returns a Tunnel to a proxy that sends answer, size bytes at a time.
func tunnelTo(answer []byte, size int) *Tunnel {
	return &Tunnel{Conn: &wiretest.Pieces{Input: answer, Size: size}}
}
