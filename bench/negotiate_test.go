package bench

import (
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// Content negotiation beside fiber's, by the names of fiber's own benches:
//
//	./run.sh -p fiber negotiate 'GetOffer|Ctx_Accepts'

// fiberParams is fiber's type of the parameters of a media range.
type fiberParams = map[string][]byte

// fiberOffer and fiberOfferType are what fiber's own bench of negotiation calls, which it does
// not export.
//
//go:linkname fiberOffer github.com/gofiber/fiber/v3.getOffer
func fiberOffer(header []byte, isAccepted func(spec, offer string, specParams fiberParams) bool, offers ...string) string

//go:linkname fiberOfferType github.com/gofiber/fiber/v3.acceptsOfferType
func fiberOfferType(spec, offerType string, specParams fiberParams) bool

// The cases are those of fiber's bench of the same name.
func Benchmark_Utils_GetOffer(b *testing.B) {
	for _, tc := range []struct {
		name, accept string
		offers       []string
	}{
		{"simple", "application/json", []string{"application/json"}},
		{"6 offers", "text/plain", []string{"junk/a", "junk/b", "junk/c", "junk/d", "junk/e", "text/plain"}},
		{"1 parameter", "application/json; version=1", []string{"application/json;version=1"}},
		{"2 parameters", "application/json; version=1; foo=bar", []string{"application/json;version=1;foo=bar"}},
		{"3 parameters", "application/json; version=1; foo=bar; charset=utf-8", []string{"application/json;version=1;foo=bar;charset=utf-8"}},
		{"10 parameters", "text/plain;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=10", []string{"text/plain;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=10"}},
		{"6 offers with parameters", "text/plain; format=flowed", []string{
			"junk/a;a=b", "junk/b;b=c", "junk/c;c=d", "text/plain; format=justified", "text/plain; format=flat", "text/plain; format=flowed",
		}},
		{"mime extension", "utf-8, iso-8859-1;q=0.5", []string{"utf-8"}},
		{"mime extension 2", "utf-8, iso-8859-1;q=0.5", []string{"iso-8859-1"}},
		{"mime extension 3", "utf-8, iso-8859-1;q=0.5", []string{"iso-8859-1", "utf-8"}},
		{"mime extension 4", "gzip, deflate", []string{"deflate"}},
		{"web browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", []string{"text/html", "application/xml", "application/xml+xhtml"}},
	} {
		accept := []byte(tc.accept)
		want := fiberOffer(accept, fiberOfferType, tc.offers...)
		beside(b, tc.name, want,
			func() string { return fiberOffer(accept, fiberOfferType, tc.offers...) },
			func() string { return negotiate.MediaType(accept, tc.offers...) })
	}
}

func Benchmark_Ctx_Accepts(b *testing.B) {
	theirs, ours := withField("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9")
	for _, offers := range [][]string{{".xml"}, {"json", "xml"}, {"application/json", "application/xml"}} {
		want := offers[len(offers)-1]
		beside(b, strings.Join(offers, "+"), want,
			func() string { return theirs.Accepts(offers...) },
			func() string { return negotiate.MediaType(ours.Request.Header.Peek("Accept"), offers...) })
	}
}

func Benchmark_Ctx_AcceptsCharsets(b *testing.B) {
	theirs, ours := withField("Accept-Charset", "utf-8, iso-8859-1;q=0.5")
	beside(b, "utf-8", "utf-8",
		func() string { return theirs.AcceptsCharsets("utf-8") },
		func() string { return negotiate.Charset(ours.Request.Header.Peek("Accept-Charset"), "utf-8") })
}

func Benchmark_Ctx_AcceptsEncodings(b *testing.B) {
	theirs, ours := withField("Accept-Encoding", "deflate, gzip;q=1.0, *;q=0.5")
	beside(b, "gzip", "gzip",
		func() string { return theirs.AcceptsEncodings("gzip") },
		func() string { return negotiate.Encoding(ours.Request.Header.Peek("Accept-Encoding"), "gzip") })
}

func Benchmark_Ctx_AcceptsLanguages(b *testing.B) {
	theirs, ours := withField("Accept-Language", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5")
	beside(b, "fr", "fr",
		func() string { return theirs.AcceptsLanguages("fr") },
		func() string { return negotiate.Language(ours.Request.Header.Peek("Accept-Language"), "fr") })
}

// withField returns contexts of both for a request with one field.
func withField(name, value string) (fiber.Ctx, *gallop.RequestCtx) {
	theirs := fiber.New().AcquireCtx(&fasthttp.RequestCtx{})
	theirs.Request().Header.Set(name, value)
	ours := &gallop.RequestCtx{}
	ours.Request.Header.Set(name, value)
	return theirs, ours
}

// beside runs the same call of both as benches.
func beside(b *testing.B, name, want string, theirs, ours func() string) {
	for _, side := range []struct {
		name string
		call func() string
	}{{"fiber", theirs}, {"gallop", ours}} {
		b.Run(name+"/server="+side.name, func(b *testing.B) {
			b.ReportAllocs()
			var got string
			for b.Loop() {
				got = side.call()
			}
			if got != want {
				b.Errorf("%q, want %q", got, want)
			}
		})
	}
}
