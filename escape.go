package gallop

import "github.com/gallop-http/gallop/internal/target"

// AppendHTMLEscape appends s to dst and replaces '&', '<', '>' and both kinds of straight quotes with character
// references. The result is safe in HTML text and in quoted HTML attributes.
func AppendHTMLEscape(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		reference := htmlReference(s[i])
		if reference == "" {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, reference...)
		start = i + 1
	}
	return append(dst, s[start:]...)
}

// AppendHTMLEscapeBytes does the same as [AppendHTMLEscape], but takes a []byte.
func AppendHTMLEscapeBytes(dst, s []byte) []byte { return AppendHTMLEscape(dst, UnsafeString(s)) }

func htmlReference(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	}
	return ""
}

// AppendQuotedArg appends src to dst as a key or value of a query. Unreserved characters (RFC 3986 §2.3) stay,
// a space becomes '+', and everything else is percent-encoded.
func AppendQuotedArg(dst, src []byte) []byte { return target.AppendEscapeArgument(dst, src) }

// AppendUnquotedArg decodes src, a key or value of a query, and appends the result to dst. AppendUnquotedArg replaces
// '+' with a space and decodes percent escapes. Malformed escapes stay unchanged. dst may be src[:0].
func AppendUnquotedArg(dst, src []byte) []byte { return target.AppendUnescapeArgument(dst, src) }
