package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// matchBasic implements basic filtering. A range matches a tag that equals it, or that begins with it and continues
// with a new subtag (RFC 4647 §3.3.1). A longer range is more specific.
func matchBasic(langRange, tag string) specificity {
	n := len(langRange)
	switch {
	case langRange == "*":
		return wildcard
	case ascii.HasPrefixFold(tag, langRange) && (len(tag) == n || tag[n] == '-'):
		return named + specificity(n)
	}
	return 0
}

// matchExtended implements extended filtering. The numbers below are the steps of RFC 4647 §3.3.2. A range with more
// subtags is more specific.
func matchExtended(langRange, tag string) specificity {
	if langRange == "*" {
		return wildcard
	}
	wanted, langRange := ascii.Cut(langRange, '-')
	have, tag := ascii.Cut(tag, '-')
	s := named
	if wanted != "*" {
		if !ascii.EqualFold(wanted, have) { // 2
			return 0
		}
		s++
	}
	n, ok := matchSubtags(langRange, tag)
	if !ok {
		return 0
	}
	return s + n
}

// matchSubtags implements step 3 for the subtags after the first one. It also returns how many of the range's subtags
// are not "*".
func matchSubtags(langRange, tag string) (n specificity, ok bool) {
	for langRange != "" {
		var wanted string
		if wanted, langRange = ascii.Cut(langRange, '-'); wanted == "*" { // 3.A
			continue
		}
		if tag, ok = cutSubtag(tag, wanted); !ok {
			return 0, false
		}
		n++
	}
	return n, true // 4
}

// cutSubtag returns the rest of the tag after the first subtag that equals wanted, and reports whether there is one.
// It does not skip a subtag of one character, because that changes the meaning of the subtags after it.
func cutSubtag(tag, wanted string) (rest string, ok bool) {
	for tag != "" { // 3.B
		var have string
		have, tag = ascii.Cut(tag, '-')
		switch {
		case ascii.EqualFold(wanted, have): // 3.C
			return tag, true
		case len(have) == 1: // 3.D
			return "", false
		}
	} // 3.E
	return "", false
}

// ignoreLength makes all ranges that name a tag equally specific. A longer range says more about one tag, but it does
// not say which of two tags the client likes better.
func ignoreLength(verdicts []verdict) {
	for i := range verdicts {
		verdicts[i].specificity = min(verdicts[i].specificity, named)
	}
}
