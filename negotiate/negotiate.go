// Package negotiate chooses what to answer with: it reads Accept, Accept-Charset,
// Accept-Encoding and Accept-Language as RFC 9110 §12.5 has them, and finds the
// best of what a server offers. docs/design/0007-negotiate.md says what is decided
// where the RFC leaves room.
//
//	negotiate.MediaType("text/html;q=0.8, application/json", "html", "json") // "json"
//
// Everything here is a function of its arguments: nothing is remembered, nothing is
// changed, and any number of goroutines may call at once. A header is the value of
// its field, with a comma between the values where the field has several lines
// (RFC 9110 §5.3). It may be hostile; reading it takes time in proportion to its
// length. Offers are the server's own and trusted.
//
// # How the files hang together
//
// A header is a list of members (list.go). Each of them is held against each of the
// offers, in the way of the kind that is negotiated (media_type.go, token.go,
// language.go), and what the most specific one says is the offer's verdict. The best
// verdict wins (choose.go).
package negotiate

// Header is what a field's value may be.
type Header interface{ ~string | ~[]byte }

// MediaType returns the offer that Accept asks for (RFC 9110 §12.5.1), spelled as it
// was offered, or "" if none is acceptable. An offer is a media type, with parameters
// or without, or a short name for one, as "json" or ".html" (see TypeByExtension).
// The offer "text/*" stands for a type that is still to be chosen, and is what any
// range of that type says that does not refuse.
//
// The quality of an offer is that of the most specific range that matches it. A range
// with parameters matches offers that have all of them, with equal values, in any
// order. Of offers of the same quality, the one that a more specific range matches
// comes first, then the one that the client named first, then the first one offered.
// A header without members says that everything is as good: then it is the first one.
func MediaType[H Header](header H, offers ...string) string {
	return choose(MediaTypes, view(header), offers)
}

// Charset returns the offer that Accept-Charset asks for (RFC 9110 §12.5.2), by the
// rules of MediaType. New servers send UTF-8 and do not ask.
func Charset[H Header](header H, offers ...string) string {
	return choose(Charsets, view(header), offers)
}

// Encoding returns the content coding that Accept-Encoding asks for (RFC 9110
// §12.5.3), by the rules of MediaType, but that "identity", no coding, is acceptable
// unless the header refuses it, and liked least if it is not named. A header without
// members wants no coding; so, in effect, does a client that has no such field, and
// the two are not told apart here. "x-gzip" and "x-compress" are "gzip" and "compress"
// (§8.4.1).
func Encoding[H Header](header H, offers ...string) string {
	return choose(Encodings, view(header), offers)
}

// Language returns the language tag that Accept-Language asks for (RFC 9110 §12.5.4),
// by the rules of MediaType and basic filtering (RFC 4647 §3.3.1): the range "en" matches the
// tags "en" and "en-GB". Of offers of the same quality the one that the client named
// first comes first, whether its range is longer or shorter.
func Language[H Header](header H, offers ...string) string {
	return choose(Languages, view(header), offers)
}

// LanguageExtended is Language by extended filtering (RFC 4647 §3.3.2): "*" stands for any
// subtags in its place, and the range "de-DE" matches the tag "de-Latn-DE" as well.
func LanguageExtended[H Header](header H, offers ...string) string {
	return choose(LanguagesExtended, view(header), offers)
}

// LanguageLookup is Language by lookup (RFC 4647 §3.4), which finds a page for everybody:
// ranges are tried from the best liked on, each of them shortened until it is a tag
// that is offered, so that "de-CH" finds "de". Where nothing is found, "*" takes
// the first offer, and without "*" it is "". What a range refuses by basic filtering
// is not found.
func LanguageLookup[H Header](header H, offers ...string) string {
	return choose(LanguagesByLookup, view(header), offers)
}

// Choose returns the offer that the header asks for by the rules of a kind, or "" if none is
// acceptable. It is for code that learns the kind at runtime; see MediaType and the other functions
// for the rules.
func Choose[H Header](kind Kind, header H, offers ...string) string {
	return choose(kind, view(header), offers)
}

// Quality returns how well the header likes one offer, in thousandths: from 1000 down
// to 0, which means that it is not acceptable.
func Quality[H Header](kind Kind, header H, offer string) int {
	return int(quality(kind, view(header), offer))
}
