package serve

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
)

//go:embed pages
var pages embed.FS

// asset returns a file of the pages, with the line ends that a browser hashes: a checkout on Windows
// may have others.
func asset(name string) string {
	b, err := pages.ReadFile("pages/" + name)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

var (
	style, script, icons, favicon = asset("style.css"), asset("filter.js"), asset("icons.svg"), asset("favicon.svg")

	listingPage = newPage("listing.html", " script-src "+hashSource(script)+";")
	errorPage   = newPage("error.html", "")
)

// page is a template and the policy of what it makes.
type page struct {
	template *template.Template
	policy   string
}

// newPage reads a template. The pages may load nothing but their own style sheet and script, which
// are allowed by hash, and images of this server for the favicon.
func newPage(name, scripts string) *page {
	return &page{
		template: template.Must(template.New(name).Funcs(template.FuncMap{
			"style":  func() template.CSS { return template.CSS(style) },
			"script": func() template.JS { return template.JS(script) },
			"icons":  func() template.HTML { return template.HTML(icons) },
		}).Parse(asset(name))),
		policy: "default-src 'none'; style-src " + hashSource(style) + ";" + scripts +
			" img-src 'self'; base-uri 'none'; form-action 'none'",
	}
}

// hashSource returns the source expression that allows an inline script or style sheet (CSP Level 3 §2.3.1).
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// send makes the page the body of the response. The status and other headers stay.
func (p *page) send(ctx *gallop.RequestCtx, data any) {
	var b bytes.Buffer
	if err := p.template.Execute(&b, data); err != nil {
		ctx.Logger().Printf("cannot make the page %s: %v", p.template.Name(), err)
		ctx.Error(gallop.StatusMessage(gallop.StatusInternalServerError), gallop.StatusInternalServerError)
		return
	}
	h := &ctx.Response.Header
	h.SetContentType("text/html; charset=utf-8")
	h.Set(gallop.HeaderContentSecurityPolicy, p.policy)
	h.Set(gallop.HeaderReferrerPolicy, "same-origin")
	h.Set(gallop.HeaderCacheControl, "no-cache")
	ctx.SetBody(b.Bytes())
}

// printable returns s as text for a page: valid UTF-8 without control characters and without characters
// that are invisible or change the direction of text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsGraphic(r) && r != ' ' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
