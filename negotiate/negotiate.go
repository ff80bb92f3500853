// Package negotiate chooses the response that suits a client best. The package parses the headers Accept,
// Accept-Charset, Accept-Encoding and Accept-Language (RFC 9110 §12.5), and chooses one of the server's offers.
//
//	negotiate.MediaType("text/html;q=0.8, application/json", "html", "json") // "json"
//
// All functions are pure and safe for concurrent use. A header argument is the value of the header. If a request has
// several header lines with the same name, join their values with commas (RFC 9110 §5.3). Parsing time grows linearly
// with the length of the header, even if the header is hostile. The package trusts the offers, because they come from
// the server. To parse offers only once, use [Offers].
package negotiate

// Read the files in this order:
//
//   - choose.go judges offers, and returns the one with the best verdict.
//   - verdict.go compares verdicts. The most specific member of the header that matches an offer decides its verdict.
//   - offers.go parses the offers, and list.go and weight.go the members of a header.
//   - media_type.go, parameters.go, text.go, token.go and language.go match a member with an offer.
//   - lookup.go has the rules of LanguageLookup, which differ.
//
// docs/design/0007-negotiate.md lists what the RFC leaves open.

// Header is the type of a header value.
type Header interface{ ~string | ~[]byte }

// MediaType returns the offer that the Accept header prefers (RFC 9110 §12.5.1), exactly as the offer was spelled.
// MediaType returns "" if no offer is acceptable. An offer is a media type, with or without parameters, or a short name
// such as "json" or ".html" (see [TypeByExtension]). The offer "text/*" stands for a text type that the server chooses
// later. Any range of the type text, such as "text/html", matches the offer "text/*", unless the range has the weight
// 0.
//
// An offer gets the quality of the most specific range that matches it. A range with parameters matches only offers
// that have all its parameters, with equal values and in any order. If two offers have equal quality, the offer with
// the more specific range wins. If both ranges are equally specific, the order of the ranges in the header decides.
// After that, the order of the offers decides. An empty header accepts every offer equally, so the first offer wins.
func MediaType[H Header](header H, offers ...string) string {
	return choose(MediaTypes, view(header), offers)
}

// Charset returns the charset that the Accept-Charset header prefers (RFC 9110 §12.5.2). The rules are the same as for
// [MediaType]. New servers should just send UTF-8.
func Charset[H Header](header H, offers ...string) string {
	return choose(Charsets, view(header), offers)
}

// Encoding returns the content coding that the Accept-Encoding header prefers (RFC 9110 §12.5.3). The rules are the
// same as for [MediaType], with some exceptions. The offer "identity", which means no coding, is acceptable unless the
// header refuses it. If the header does not name "identity", the offer "identity" is the last choice. If the header is
// empty or missing, only "identity" is acceptable. The names "x-gzip" and "x-compress" mean "gzip" and "compress"
// (§8.4.1).
func Encoding[H Header](header H, offers ...string) string {
	return choose(Encodings, view(header), offers)
}

// Language returns the language tag that the Accept-Language header prefers (RFC 9110 §12.5.4). The rules are the same
// as for [MediaType], with basic filtering (RFC 4647 §3.3.1). The range "en" matches the tags "en" and "en-GB". If two
// offers have equal quality, the order of the ranges in the header decides, regardless of the length of the ranges.
func Language[H Header](header H, offers ...string) string {
	return choose(Languages, view(header), offers)
}

// LanguageExtended chooses a language tag like [Language], but uses extended filtering (RFC 4647 §3.3.2). In a range,
// "*" matches any subtags. The range "de-DE" also matches the tag "de-Latn-DE".
func LanguageExtended[H Header](header H, offers ...string) string {
	return choose(LanguagesExtended, view(header), offers)
}

// LanguageLookup chooses a language tag like [Language], but uses lookup (RFC 4647 §3.4). Lookup falls back from a
// specific tag to more general tags. LanguageLookup tries the ranges in the order of preference. Each range is
// shortened until it equals an offered tag, so "de-CH" finds "de". If the header's ranges match no offer, a "*" in the
// header selects the first offer. Without a "*", the result is "". LanguageLookup never chooses a tag that matches a
// range with q=0 under basic filtering.
func LanguageLookup[H Header](header H, offers ...string) string {
	return choose(LanguagesByLookup, view(header), offers)
}

// Choose returns the offer that the header prefers, or "" if no offer is acceptable. The kind argument selects the
// rules, which [MediaType] and the other functions describe. Use Choose if the kind is known only at runtime.
func Choose[H Header](kind Kind, header H, offers ...string) string {
	return choose(kind, view(header), offers)
}

// Quality returns the weight that the header gives to one offer, in thousandths. The highest weight is 1000, and 0
// means that the offer is not acceptable.
func Quality[H Header](kind Kind, header H, offer string) int {
	return quality(kind, view(header), offer)
}
