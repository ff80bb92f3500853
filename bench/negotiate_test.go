package bench

import (
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
	"github.com/gallop-http/gallop/web"
	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// Content negotiation compared with fiber's, under the names of fiber's own benchmarks:
//
//	go run ./compare negotiate

// fiberParams is fiber's type for the parameters of a media range.
type fiberParams = map[string][]byte

// fiberOffer and fiberOfferType are the unexported functions that fiber's own negotiation benchmark calls.
//
//go:linkname fiberOffer github.com/gofiber/fiber/v3.getOffer
func fiberOffer(header []byte, isAccepted func(spec, offer string, specParams fiberParams) bool, offers ...string) string

//go:linkname fiberOfferType github.com/gofiber/fiber/v3.acceptsOfferType
func fiberOfferType(spec, offerType string, specParams fiberParams) bool

// The cases are those of fiber's benchmark of the same name.
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
	withField("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9", func(theirs fiber.Ctx, ours *web.Ctx) {
		for _, offers := range [][]string{{".xml"}, {"json", "xml"}, {"application/json", "application/xml"}} {
			beside(b, strings.Join(offers, "+"), offers[len(offers)-1],
				func() string { return theirs.Accepts(offers...) },
				func() string { return ours.Accepts(offers...) })
		}
	})
}

func Benchmark_Ctx_AcceptsCharsets(b *testing.B) {
	withField("Accept-Charset", "utf-8, iso-8859-1;q=0.5", func(theirs fiber.Ctx, ours *web.Ctx) {
		beside(b, "utf-8", "utf-8",
			func() string { return theirs.AcceptsCharsets("utf-8") },
			func() string { return ours.AcceptsCharsets("utf-8") })
	})
}

func Benchmark_Ctx_AcceptsEncodings(b *testing.B) {
	withField("Accept-Encoding", "deflate, gzip;q=1.0, *;q=0.5", func(theirs fiber.Ctx, ours *web.Ctx) {
		beside(b, "gzip", "gzip",
			func() string { return theirs.AcceptsEncodings("gzip") },
			func() string { return ours.AcceptsEncodings("gzip") })
	})
}

func Benchmark_Ctx_AcceptsLanguages(b *testing.B) {
	withField("Accept-Language", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", func(theirs fiber.Ctx, ours *web.Ctx) {
		beside(b, "fr", "fr",
			func() string { return theirs.AcceptsLanguages("fr") },
			func() string { return ours.AcceptsLanguages("fr") })
	})
}

// The four types on offer are those of fiber's benchmark of the same name. Our response is reset for each operation,
// as between requests, because a response keeps every value that was set until it is reset.
func Benchmark_Ctx_Format(b *testing.B) {
	withField("Accept", "application/json,text/plain; format=flowed; q=0.9", func(theirs fiber.Ctx, ours *web.Ctx) {
		var chosen string
		var forThem []fiber.ResFmt
		var forUs []web.Offer
		for _, t := range []string{"application/xml", "text/html", "text/plain;format=fixed", "text/plain;format=flowed"} {
			forThem = append(forThem, fiber.ResFmt{MediaType: t, Handler: func(fiber.Ctx) error { chosen = t; return nil }})
			forUs = append(forUs, web.Offer{MediaType: t, Handler: func(*web.Ctx) error { chosen = t; return nil }})
		}
		beside(b, "four types", "text/plain;format=flowed",
			func() string { theirs.Format(forThem...); return chosen },
			func() string {
				ours.RequestCtx().Response.Reset()
				ours.Format(forUs...)
				return chosen
			})
	})
}

// withField calls f with a context of each framework, for a request with one field.
func withField(name, value string, f func(theirs fiber.Ctx, ours *web.Ctx)) {
	theirs := fiber.New().AcquireCtx(&fasthttp.RequestCtx{})
	theirs.Request().Header.Set(name, value)
	request := &gallop.RequestCtx{}
	request.Request.Header.Set(name, value)
	app := web.New(web.Config{})
	app.Get("/", func(c *web.Ctx) error { f(theirs, c); return nil })
	app.Handler()(request)
}

// beside runs the same call of both frameworks as benchmarks.
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
