package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// matchBasic implements basic filtering. A range matches a tag that equals it, or that begins with it and continues
// with a new subtag (RFC 4647 §3.3.1). A longer range is more specific.
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

// matchExtended implements extended filtering (RFC 4647 §3.3.2). The numbers below are those of its steps. A range
// with more subtags is more specific.
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

// noTag is the result of behindSubtag if the subtag is missing. It is not a valid tag.
const noTag = "-"

// behindSubtag returns the rest of the tag after the next subtag that equals wanted. It does not skip a subtag of one
// character, because that changes the meaning of the subtags after it.
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

// lookup is weigh for LanguagesByLookup. In effect, it tries one tag after another: the ranges, by decreasing weight,
// each of them shortened step by step. The verdict of an offer is the first try that finds it. Its order is the
// position of that range in the header, plus the number of bytes that were cut off.
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

// try returns the verdict of the range m, which begins at start, on the tag. The zero verdict means that the range
// does not find the tag. "*" finds any tag, after all other tries.
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

// isShortened reports whether the tag equals the range or the rest of it after removing subtags from its end one by
// one. A subtag of a single character is removed together with the subtag after it (RFC 4647 §3.4).
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
