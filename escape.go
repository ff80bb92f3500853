package gallop

import "github.com/gallop-http/gallop/internal/target"

// AppendHTMLEscape appends s to dst with '&', '<', '>' and both kinds of straight quotes written as
// character references, so that s can stand in the text and in quoted attributes of HTML.
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

// AppendHTMLEscapeBytes is AppendHTMLEscape for bytes.
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

// AppendQuotedArg appends src to dst as a name or value of a query: unreserved
// characters (RFC 3986 §2.3) stay, a blank becomes '+', everything else is escaped.
func AppendQuotedArg(dst, src []byte) []byte { return target.AppendEscapeArgument(dst, src) }

// AppendUnquotedArg appends src, a name or value of a query, to dst with '+' and escapes
// decoded. What looks like an escape and is none stays as it is. dst may be src[:0].
func AppendUnquotedArg(dst, src []byte) []byte { return target.AppendUnescapeArgument(dst, src) }
