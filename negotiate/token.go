package negotiate

// matchToken is the match of charsets and of codings.
func matchToken(member, name string) specificity {
	switch {
	case name == "":
		return 0
	case member == "*":
		return wildcard
	case equalFold(member, name):
		return named
	}
	return 0
}

// setEncoding reads the offer of a coding. No coding at all is acceptable as long as
// nothing refuses it (RFC 9110 §12.5.3), but whoever lists codings likes any of them
// better.
func (c *candidate) setEncoding(offer string) {
	c.name = canonicalCoding(offer)
	if equalFold(c.name, "identity") {
		c.quality = minQuality
	}
}

// canonicalCoding returns the name of a coding for an old one of it: RFC 9110 §8.4.1.
func canonicalCoding(name string) string {
	if len(name) > 2 && name[1] == '-' {
		return withoutX(name)
	}
	return name
}

func withoutX(name string) string {
	if equalFold(name, "x-gzip") || equalFold(name, "x-compress") {
		return name[len("x-"):]
	}
	return name
}
