package negotiate

// matchToken matches charsets and codings. "*" matches any of them (RFC 9110 §12.5.2, §12.5.3).
func matchToken(member, name string) specificity {
	switch {
	case member == "*":
		return wildcard
	case equalFold(member, name):
		return named
	}
	return 0
}

// acceptIdentity accepts "identity", which means no coding, unless the header refuses it (RFC 9110 §12.5.3). If no
// member matches it, it gets the lowest weight, because clients that list codings prefer any of them.
func acceptIdentity(group []offer, verdicts []verdict) {
	for i := range group {
		if verdicts[i].specificity == 0 && equalFold(group[i].name, "identity") {
			verdicts[i].quality = minQuality
		}
	}
}

// canonicalCoding replaces an old name of a coding by the current one (RFC 9110 §8.4.1).
func canonicalCoding(name string) string {
	if equalFold(name, "x-gzip") || equalFold(name, "x-compress") {
		return name[len("x-"):]
	}
	return name
}
