package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// matchBasic is basic filtering: a range matches the tag that it is, or that begins with it at a
// boundary of subtags (RFC 4647 §3.3.1). A longer range is more specific.
func matchBasic(langRange, tag string) specificity {
	n := len(langRange)
	switch {
	case n == 0 || tag == "":
		return 0
	case langRange == "*":
		return wildcard
	case len(tag) < n || len(tag) > n && tag[n] != '-':
		return 0
	case equalFold(tag[:n], langRange):
		return named + specificity(n)
	}
	return 0
}

// matchExtended is extended filtering: RFC 4647 §3.3.2, whose steps are numbered here. A
// range with more subtags is more specific.
func matchExtended(langRange, tag string) specificity {
	if tag == "" || langRange == "" {
		return 0
	}
	if langRange == "*" {
		return wildcard
	}
	wanted, langRange := ascii.Cut(langRange, '-')
	have, tag := ascii.Cut(tag, '-')
	if wanted != "*" && !ascii.EqualFold(wanted, have) { // 2
		return 0
	}
	s := named
	if wanted != "*" {
		s++
	}
	for langRange != "" {
		if wanted, langRange = ascii.Cut(langRange, '-'); wanted == "*" { // 3.A
			continue
		}
		if tag = behindSubtag(tag, wanted); tag == noTag { // 3.B to 3.E
			return 0
		}
		s++
	}
	return s // 4
}

// noTag is what behindSubtag returns if there is no such subtag. No tag is like it.
const noTag = "-"

// behindSubtag returns what is in the tag behind the next subtag that is wanted. A subtag of
// one character, which gives those behind it another meaning, is not skipped.
func behindSubtag(tag, wanted string) string {
	for tag != "" {
		var have string
		if have, tag = ascii.Cut(tag, '-'); ascii.EqualFold(wanted, have) {
			return tag
		}
		if len(have) == 1 {
			break
		}
	}
	return noTag
}

// lookup is weigh for LanguagesByLookup. In effect it tries one tag after the other: the
// ranges, from the best liked on, each shortened step by step. So the verdict of an offer
// is the first try that finds it, and its order is where in the header that range
// begins, plus what was cut off.
func lookup(header string, few []candidate) {
	if !Languages.read(header, few) {
		acceptAll(few)
		return
	}
	var refused [perPass]bool
	for i := range few {
		refused[i] = few[i].quality == 0 && few[i].specificity >= named
		few[i].verdict = verdict{}
	}
	var m member
	for rest := header; rest != ""; {
		start := len(header) - len(rest)
		rest = m.cutFrom(rest)
		for i := range few {
			v := try(&m, start, few[i].name)
			if !refused[i] && v.quality > 0 && v.beats(&few[i].verdict) {
				few[i].verdict = v
			}
		}
	}
}

// try returns the verdict of the range m, which begins at start, on the tag: the zero verdict if it does
// not find it. "*" finds anything, when all else has been tried.
func try(m *member, start int, tag string) verdict {
	switch {
	case tag == "":
	case m.name == "*":
		return verdict{min(m.weight(), minQuality), wildcard, 0}
	case isShortened(m.name, tag):
		return verdict{m.weight(), named, int32(start + len(m.name) - len(tag))}
	}
	return verdict{}
}

// isShortened reports whether the tag is the range or what is left of it when subtags are taken off its end
// one by one, and with each of them one of a single character before it (RFC 4647 §3.4).
func isShortened(langRange, tag string) bool {
	if len(tag) == len(langRange) {
		return ascii.EqualFold(langRange, tag)
	}
	if !ascii.HasPrefixFold(langRange, tag) || langRange[len(tag)] != '-' {
		return false
	}
	endsInSingleton := len(tag) == 1 || tag[len(tag)-2] == '-'
	return !endsInSingleton
}
