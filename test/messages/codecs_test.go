package messages_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

func TestUint(t *testing.T) {
	for _, n := range []int{0, 7, 10, 65535, math.MaxInt} {
		b := gallop.AppendUint([]byte("x"), n)
		if string(b) != fmt.Sprintf("x%d", n) {
			t.Errorf("%d: wrote %q", n, b)
		}
		if got, err := gallop.ParseUint(b[1:]); err != nil || got != n {
			t.Errorf("%d: read %d, %v", n, got, err)
		}
	}
	for _, s := range []string{"", "-1", "+1", " 1", "1 ", "1_0", "0x1", "1e3", "9223372036854775808", "18446744073709551621"} {
		if n, err := gallop.ParseUint([]byte(s)); err == nil || n != -1 {
			t.Errorf("%q: read as %d, %v", s, n, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("AppendUint took a negative number")
		}
	}()
	gallop.AppendUint(nil, -1)
}

func TestUfloat(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "1.5": 1.5, ".5": .5, "1e3": 1000, "+2": 2} {
		if f, err := gallop.ParseUfloat([]byte(s)); err != nil || f != want {
			t.Errorf("%q: %v, %v", s, f, err)
		}
	}
	for _, s := range []string{"", "-1", "-0", "NaN", "1.5x", " 1", "1e999"} {
		if f, err := gallop.ParseUfloat([]byte(s)); err == nil || f != -1 {
			t.Errorf("%q: read as %v, %v", s, f, err)
		}
	}
}

func TestHTTPDate(t *testing.T) {
	const text = "Sun, 06 Nov 1994 08:49:37 GMT"
	date, err := gallop.ParseHTTPDate([]byte(text))
	if err != nil || !date.Equal(time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)) {
		t.Errorf("read %v, %v", date, err)
	}
	if got := gallop.AppendHTTPDate([]byte("x"), date.In(time.FixedZone("", 7200))); string(got) != "x"+text {
		t.Errorf("wrote %q", got)
	}
	if _, err := gallop.ParseHTTPDate([]byte("now")); err == nil {
		t.Error("read \"now\"")
	}
	if now := gallop.CoarseTimeNow(); now.Nanosecond() != 0 || time.Since(now) > time.Minute {
		t.Errorf("CoarseTimeNow: %v", now)
	}
}

func TestHTMLEscape(t *testing.T) {
	for _, s := range []string{"", "plain", `<a href="x">&'</a>`, "&", "a<", "\u00e9\xff\x00"} {
		if got, want := string(gallop.AppendHTMLEscape([]byte("x"), s)), "x"+html.EscapeString(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
		if got := html.UnescapeString(string(gallop.AppendHTMLEscapeBytes(nil, []byte(s)))); got != s {
			t.Errorf("%q: comes back as %q", s, got)
		}
	}
}

func TestQuotedArg(t *testing.T) {
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
	}
	quoted := gallop.AppendQuotedArg(nil, all)
	for _, c := range quoted {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%+", rune(c)) {
			t.Errorf("%q stayed", c)
		}
	}
	if got := gallop.AppendUnquotedArg(quoted[:0], quoted); !bytes.Equal(got, all) {
		t.Errorf("comes back as %q", got)
	}
	if got := string(gallop.AppendUnquotedArg([]byte("x"), []byte("a+b%2bc%zz%"))); got != "xa b+c%zz%" {
		t.Errorf("got %q", got)
	}
}

func TestIPv4(t *testing.T) {
	for _, s := range []string{"0.0.0.0", "255.255.255.255", "192.0.2.1"} {
		ip, err := gallop.ParseIPv4(nil, []byte(s))
		if err != nil || string(gallop.AppendIPv4([]byte("x"), ip)) != "x"+s {
			t.Errorf("%s: %v, %v", s, ip, err)
		}
	}
	for _, s := range []string{"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1..3.4", "1.2.3.", ".1.2.3", "1.2.3.4 ", "a.b.c.d", "-1.2.3.4", "99999999999999999999.1.1.1"} {
		if ip, err := gallop.ParseIPv4(nil, []byte(s)); err == nil {
			t.Errorf("%q: read as %v", s, ip)
		}
		if _, err := netip.ParseAddr(s); err == nil {
			t.Errorf("%q: net/netip reads it", s)
		}
	}
	dst := net.IP{9, 9, 9, 9}
	if ip, _ := gallop.ParseIPv4(dst, []byte("1.2.3.4")); &ip[0] != &dst[0] {
		t.Error("did not use dst")
	}
	if got := string(gallop.AppendIPv4(nil, net.ParseIP("2001:db8::1"))); got != "2001:db8::1" {
		t.Errorf("IPv6: got %q", got)
	}
}

func TestAddMissingPort(t *testing.T) {
	for _, tc := range []struct{ addr, plain, tls string }{
		{"", "", ""},
		{"a.example", "a.example:80", "a.example:443"},
		{"a.example:8080", "a.example:8080", "a.example:8080"},
		{":8080", ":8080", ":8080"},
		{"[::1]", "[::1]:80", "[::1]:443"},
		{"[::1]:8080", "[::1]:8080", "[::1]:8080"},
		{"192.0.2.1", "192.0.2.1:80", "192.0.2.1:443"},
	} {
		if plain, tls := gallop.AddMissingPort(tc.addr, false), gallop.AddMissingPort(tc.addr, true); plain != tc.plain || tls != tc.tls {
			t.Errorf("%q: got %q, %q", tc.addr, plain, tls)
		}
	}
}

func TestNormalizedHeaderKey(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "a": "A", "HOST": "Host", "coNTENT-TYPe": "Content-Type", "x--y-1z": "X--Y-1z", "-a": "-A",
		"a b": "a b", "a:B": "a:B", "A\r\nB": "A\r\nB", "^_~A": "^_~a",
	} {
		if got := string(gallop.AppendNormalizedHeaderKey([]byte("x"), key)); got != "x"+want {
			t.Errorf("%q: got %q", key, got)
		}
		if got := string(gallop.AppendNormalizedHeaderKeyBytes(nil, []byte(key))); got != want {
			t.Errorf("%q: got %q", key, got)
		}
	}
}

func TestVisitHeaderParams(t *testing.T) {
	for _, tc := range []struct{ value, want string }{
		{"", ``},
		{"text/plain", ``},
		{"text/plain;charset=utf-8;q=0.39", `charset=utf-8 q=0.39`},
		{"text/plain; \t foo=bar \t ;", `foo=bar`},
		{`text/plain; a="b;c" ;d=e`, `a=b;c d=e`},
		{`text/plain; a="b\"c"`, `a=b\"c`},
		{`text/plain; a=""`, `a=`},
		{"text/plain;;; a=b", `a=b`},
		{"text/plain; a=b; ", `a=b`},
		{";", ``},
		{"text/plain; a", ``},
		{"text/plain; a=", ``},
		{"text/plain; =b", ``},
		{"text/plain; a = b", ``},
		{`text/plain; a="b`, ``},
		{`text/plain; a="b\"`, ``},
		{"text/plain; a=b c=d", `a=b`},
		{"text/plain; a=b; stop=1; c=d", `a=b stop=1`},
	} {
		var got []string
		gallop.VisitHeaderParams([]byte(tc.value), func(key, value []byte) bool {
			got = append(got, fmt.Sprintf("%s=%s", key, value))
			return string(key) != "stop"
		})
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: got %q", tc.value, got)
		}
	}
}

func TestStatusMessage(t *testing.T) {
	older := map[int]string{ // RFC 9110 has new names, which net/http does not use either
		0: "Unknown Status Code", -1: "Unknown Status Code", 306: "Unknown Status Code", 425: "Unknown Status Code", 600: "Unknown Status Code", math.MaxInt: "Unknown Status Code",
	}
	for code, want := range older {
		if got := gallop.StatusMessage(code); got != want {
			t.Errorf("%d: got %q", code, got)
		}
	}
	known := 0
	for code := 100; code < 600; code++ {
		if older[code] != "" || http.StatusText(code) == "" {
			continue
		}
		if known++; gallop.StatusMessage(code) != http.StatusText(code) {
			t.Errorf("%d: got %q, net/http says %q", code, gallop.StatusMessage(code), http.StatusText(code))
		}
		redirect := code == 301 || code == 302 || code == 303 || code == 307 || code == 308
		if gallop.StatusCodeIsRedirect(code) != redirect {
			t.Errorf("%d: StatusCodeIsRedirect says %v", code, !redirect)
		}
	}
	if known != 61 {
		t.Errorf("%d status codes", known)
	}
}

func TestUnsafeConversions(t *testing.T) {
	b := []byte("abc")
	s := gallop.UnsafeString(b)
	if b[0] = 'x'; s != "xbc" {
		t.Error("UnsafeString copied")
	}
	if got := gallop.UnsafeBytes("abc"); string(got) != "abc" || cap(got) != 3 {
		t.Errorf("UnsafeBytes: %q, %d", got, cap(got))
	}
	if gallop.UnsafeString(nil) != "" || len(gallop.UnsafeBytes("")) != 0 {
		t.Error("empty values do not stay empty")
	}
}

func TestGenerateTestCertificate(t *testing.T) {
	for _, host := range []string{"localhost", "a.example", "127.0.0.1", "::1"} {
		certPEM, keyPEM, err := gallop.GenerateTestCertificate(host)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(certPEM) {
			t.Fatal("no root in the PEM")
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if err := pair.Leaf.VerifyHostname("other.example"); err == nil {
			t.Errorf("%s: valid for other.example", host)
		}
	}
}
