package rest

import (
	"iter"
	"net/url"
	"strings"
)

// link is one link of a Link header (RFC 8288 §3).
type link struct {
	target   string // a reference
	rels     string // with blanks between
	anchored bool   // whether it says what it is from,
	anchor   string // another reference
}

func (l link) has(rel string) bool {
	for r := range strings.FieldsSeq(l.rels) {
		if strings.EqualFold(r, rel) {
			return true
		}
	}
	return false
}

// linksIn returns an iterator over the links in a Link header. A malformed link is skipped up to the next comma.
func linksIn(value string) iter.Seq[link] {
	return func(yield func(link) bool) {
		for value != "" {
			var one link
			var ok bool
			if one, value, ok = nextLink(value); ok && !yield(one) {
				return
			}
		}
	}
}

func nextLink(s string) (one link, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t,")
	if !strings.HasPrefix(s, "<") {
		_, rest, _ = strings.Cut(s, ",")
		return link{}, rest, false
	}
	one.target, s, ok = strings.Cut(s[1:], ">")
	if !ok {
		return link{}, "", false
	}
	for {
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ";") {
			_, rest, _ = strings.Cut(s, ",")
			return one, rest, strings.TrimSpace(one.rels) != ""
		}
		var name, value string
		name, value, s = nextParam(s[1:])
		if one.rels == "" && strings.EqualFold(name, "rel") { // the first counts (RFC 8288 §3.3)
			one.rels = value
		}
		if !one.anchored && strings.EqualFold(name, "anchor") {
			one.anchor, one.anchored = value, true
		}
	}
}

// nextParam returns a parameter, unquoted, and what is behind it.
func nextParam(s string) (name, value, rest string) {
	end := strings.IndexAny(s, "=;,")
	if end < 0 {
		return strings.TrimSpace(s), "", ""
	}
	name = strings.TrimSpace(s[:end])
	if s[end] != '=' {
		return name, "", s[end:]
	}
	s = strings.TrimLeft(s[end+1:], " \t")
	if strings.HasPrefix(s, `"`) {
		value, rest = unquote(s[1:])
		return name, value, rest
	}
	if end = strings.IndexAny(s, ";,"); end < 0 {
		end = len(s)
	}
	return name, strings.TrimSpace(s[:end]), s[end:]
}

// unquote returns the quoted string that s is behind its first quote (RFC 9110 §5.6.4).
func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:]
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// absolute resolves a reference in r to a URL. It returns "" if the reference is malformed.
func (r *Response) absolute(reference string) string {
	ref, err := url.Parse(reference)
	if err != nil {
		return ""
	}
	base, err := url.Parse(r.URL())
	if err != nil {
		return ""
	}
	return base.ResolveReference(ref).String()
}
