package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
)

// Accepts returns the offered media type that the client prefers according to the Accept header. The result is spelled exactly like
// the offer. If no offer is acceptable, the result is "". Short names such as "json" are allowed: see [negotiate.MediaType].
// Accepts does not set Vary.
func (c *Ctx) Accepts(offers ...string) string {
	return negotiate.MediaType(c.field(gallop.HeaderAccept), offers...)
}

// AcceptsCharsets returns the offered charset that the client prefers according to Accept-Charset, or "" if no offer is acceptable.
// See [negotiate.Charset].
func (c *Ctx) AcceptsCharsets(offers ...string) string {
	return negotiate.Charset(c.field(gallop.HeaderAcceptCharset), offers...)
}

// AcceptsEncodings returns the offered content coding that the client prefers according to Accept-Encoding, or "" if no offer is
// acceptable. See [negotiate.Encoding].
func (c *Ctx) AcceptsEncodings(offers ...string) string {
	return negotiate.Encoding(c.field(gallop.HeaderAcceptEncoding), offers...)
}

// AcceptsLanguages returns the offered language that the client prefers according to Accept-Language, or "" if no offer is
// acceptable. AcceptsLanguages uses basic filtering (RFC 4647 §3.3.1). See [negotiate.Language].
func (c *Ctx) AcceptsLanguages(offers ...string) string {
	return negotiate.Language(c.field(gallop.HeaderAcceptLanguage), offers...)
}

// AcceptsLanguagesExtended returns the offered language that the client prefers according to Accept-Language, or "" if no offer is
// acceptable. AcceptsLanguagesExtended uses extended filtering (RFC 4647 §3.3.2). See [negotiate.LanguageExtended].
func (c *Ctx) AcceptsLanguagesExtended(offers ...string) string {
	return negotiate.LanguageExtended(c.field(gallop.HeaderAcceptLanguage), offers...)
}

// LookupLanguage returns the offered language that suits the client best according to Accept-Language. LookupLanguage uses the
// lookup scheme (RFC 4647 §3.4). Unlike AcceptsLanguages, it also finds "de" for a client that asks for the more specific
// "de-AT". See [negotiate.LanguageLookup].
func (c *Ctx) LookupLanguage(offers ...string) string {
	return negotiate.LanguageLookup(c.field(gallop.HeaderAcceptLanguage), offers...)
}

// field returns all lines of a request header as one line. The result may be a view.
func (c *Ctx) field(name string) []byte { return joinLines(c.request.Request.Header.PeekAll(name)) }

func joinLines(lines [][]byte) []byte {
	switch len(lines) {
	case 0:
		return nil
	case 1:
		return lines[0]
	}
	return bytes.Join(lines, []byte(","))
}

// Offer is one of the formats that Format chooses from.
type Offer struct {
	// MediaType is the media type that is offered to the client, or a short name such as "json". MediaType becomes the Content-Type
	// of the response. If MediaType is a range such as "text/*", Handler has to set the Content-Type instead. An Offer with the
	// MediaType "default" is not offered to the client: its Handler runs if no other offer is acceptable.
	MediaType string

	// Handler sends the response in this format. Handler must not be nil.
	Handler Handler
}

// defaultFormat is the MediaType of an Offer that is used if no other is acceptable.
const defaultFormat = "default"

// Format responds in the format that the client prefers according to the Accept header, and adds Accept to Vary. Format sets the
// Content-Type to the MediaType of the chosen offer and then runs the offer's Handler. SendString, JSON and other methods that send
// a body keep the Content-Type of the offer. If no offer is acceptable, the error has status 406 and its message lists the offers.
// If Format is called without offers, the error is [ErrNoHandlers].
func (c *Ctx) Format(formats ...Offer) error {
	if len(formats) == 0 {
		return ErrNoHandlers
	}
	var room [8]string
	offers := room[:0]
	var fallback func(c *Ctx) error
	for i, f := range formats {
		if f.Handler == nil {
			return noHandler(f, i)
		}
		if f.MediaType != defaultFormat {
			offers = append(offers, f.MediaType)
		} else if fallback == nil {
			fallback = f.Handler
		}
	}
	c.Vary(gallop.HeaderAccept)
	if chosen := c.Accepts(offers...); chosen != "" {
		for _, f := range formats {
			if f.MediaType == chosen {
				c.typeOf(chosen)
				return f.Handler(c)
			}
		}
	}
	if fallback != nil {
		return fallback(c)
	}
	return notAcceptable(offers)
}

// Formats returns a handler that calls [Ctx.Format] with the given offers, but parses the offers only once:
//
//	app.Get("/report", web.Formats(
//		web.Offer{MediaType: "json", Handler: asJSON},
//		web.Offer{MediaType: "html", Handler: asHTML},
//	))
//
// Formats panics if it is called without offers or with an offer that has no Handler.
func Formats(formats ...Offer) Handler {
	if len(formats) == 0 {
		panic(ErrNoHandlers.Error())
	}
	handlers := map[string]func(c *Ctx) error{}
	var names []string
	for i, f := range formats {
		if f.Handler == nil {
			panic(noHandler(f, i).Error())
		}
		if handlers[f.MediaType] != nil {
			continue
		}
		if handlers[f.MediaType] = f.Handler; f.MediaType != defaultFormat {
			names = append(names, f.MediaType)
		}
	}
	offers := negotiate.NewOffers(negotiate.MediaTypes, names...)
	return func(c *Ctx) error {
		c.Vary(gallop.HeaderAccept)
		if chosen := offers.ChooseBytes(c.field(gallop.HeaderAccept)); chosen != "" {
			c.typeOf(chosen)
			return handlers[chosen](c)
		}
		if fallback := handlers[defaultFormat]; fallback != nil {
			return fallback(c)
		}
		return notAcceptable(names)
	}
}

// typeOf sets the Content-Type of a format, unless the format is a range such as "text/*".
func (c *Ctx) typeOf(format string) {
	if mediaType, _, _ := strings.Cut(format, ";"); !strings.HasSuffix(strings.TrimRight(mediaType, " \t"), "*") {
		c.Type(format)
	}
}

func noHandler(f Offer, i int) error {
	return fmt.Errorf("web: format %q at index %d has no handler", f.MediaType, i)
}

func notAcceptable(offers []string) error {
	return NewError(gallop.StatusNotAcceptable, "not acceptable; there is: "+strings.Join(offers, ", "))
}

// AutoFormat sends v in the format that the client prefers: HTML, JSON, plain text, XML, or a format of Config.Codecs. If the
// client accepts none of the App's formats, AutoFormat sends plain text. AutoFormat adds Accept to Vary. In plain text, a string or
// a []byte is sent unchanged, and any other value is formatted with fmt.Sprint. The HTML format is the plain text, escaped, in a p
// element. The Content-Type of the chosen format replaces a Content-Type that was set before.
func (c *Ctx) AutoFormat(v any) error {
	c.Vary(gallop.HeaderAccept)
	c.forgetType()
	switch chosen := c.app.auto.ChooseBytes(c.field(gallop.HeaderAccept)); chosen {
	case "html":
		return c.HTML("<p>" + html.EscapeString(textOf(v)) + "</p>")
	case "json":
		return c.JSON(v)
	case "xml":
		return c.XML(v)
	case "txt", "":
		return c.SendString(textOf(v))
	default:
		codec, _ := c.app.codecs.find(chosen)
		return c.sendEncoded(codec, codec.ContentType(), v)
	}
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// fullType returns the media type for a short name, with the charset if it is text.
func fullType(name string) string {
	if strings.IndexByte(name, '/') >= 0 {
		return name
	}
	switch t := negotiate.TypeByExtension(name); t {
	case "":
		return "application/octet-stream"
	case "text/plain":
		return typeText
	case "text/html":
		return typeHTML
	default:
		if strings.HasPrefix(t, "text/") {
			return t + "; charset=utf-8"
		}
		return t
	}
}
