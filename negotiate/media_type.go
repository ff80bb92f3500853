package negotiate

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/mediatype"
)

// How specific a media range is (RFC 9110 §12.5.1). Each parameter of the range adds 1.
const (
	anyType    specificity = 1000 // */*
	anySubtype specificity = 2000 // text/*
	exactType  specificity = 3000 // text/html
)

// parseMediaType sets o to an offered media type. A name without a slash is a short name.
func (o *offer) parseMediaType(spelled string) {
	name := spelled
	if semicolon := strings.IndexByte(spelled, ';'); semicolon >= 0 {
		name, o.parameters = spelled[:semicolon], spelled[semicolon+1:]
	}
	if name != "" && strings.IndexByte(name, '/') < 0 {
		name = typeOfShortName(name)
	}
	o.name, o.isPattern = name, isWildcard(name)
}

// typeOfShortName returns the media type for a name without a slash.
func typeOfShortName(name string) string {
	if t := TypeByExtension(ascii.TrimOWS(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// TypeByExtension returns the media type, without parameters, for a short name or a file extension. The dot is
// optional and case does not matter. TypeByExtension returns "" for unknown names. The result does not depend on
// the operating system.
func TypeByExtension(name string) string {
	if name != "" && name[0] == '.' {
		name = name[1:]
	}
	for i := range len(name) {
		if c := name[i]; c != ascii.Lower(c) {
			return typeInCapitals(name)
		}
	}
	return mediatype.ForOffer(name)
}

func typeInCapitals(name string) string {
	var lower [mediatype.MaxLength]byte
	if len(name) > len(lower) {
		return ""
	}
	n := copy(lower[:], name)
	return mediatype.ForOffer(string(ascii.ToLower(lower[:n])))
}

// matchMediaType returns how specifically a member matches an offered media type. An offer such as "text/*" matches
// any range of that type that has a weight above 0.
func matchMediaType(m *member, o *offer) (s specificity) {
	switch {
	case equalFold(m.name, o.name):
		s = exactType
	case isWildcard(m.name):
		s = matchWildcard(m.name, o.name)
	case isWildcard(o.name) && matchWildcard(o.name, m.name) == anySubtype && m.quality > 0:
		s = exactType
	}
	if s == 0 || m.parameters == "" {
		return s
	}
	n, ok := matchParameters(m.parameters, o.parameters)
	if !ok {
		return 0
	}
	return s + n
}

// isWildcard reports whether a name ends in "*", so that it can match other names.
func isWildcard(name string) bool { return name != "" && name[len(name)-1] == '*' }

// matchWildcard matches a range that ends in "*" with a media type.
func matchWildcard(mediaRange, name string) specificity {
	switch {
	case mediaRange == "*/*" || mediaRange == "*": // some old clients send a single "*"
		return anyType
	case strings.HasSuffix(mediaRange, "/*") && ascii.HasPrefixFold(name, mediaRange[:len(mediaRange)-1]):
		return anySubtype
	}
	return 0
}
