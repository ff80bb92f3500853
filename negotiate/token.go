package negotiate

// matchToken matches charsets and codings.
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

// setEncoding parses the offer of a coding. No coding is acceptable unless the header refuses it (RFC 9110 §12.5.3).
// It gets the lowest weight, because clients that list codings prefer any of them.
func (c *candidate) setEncoding(offer string) {
	c.name = canonicalCoding(offer)
	if equalFold(c.name, "identity") {
		c.quality = minQuality
	}
}

// canonicalCoding replaces an old name of a coding by the current one (RFC 9110 §8.4.1).
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
