package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// lookup sets the verdicts of a header on a group of language tags (RFC 4647 §3.4). In effect, it tries one tag after
// another: the ranges, by decreasing weight, each of them shortened step by step. The verdict on an offer is the best
// try that finds it. A tag that a range refuses by basic filtering is not acceptable.
func lookup(header string, group []offer, verdicts []verdict) {
	if !Languages.findMostSpecific(header, group, verdicts) {
		acceptAll(group, verdicts)
		return
	}
	for i := range group {
		isRefused := verdicts[i].specificity >= named && verdicts[i].quality == 0
		verdicts[i] = verdict{}
		if !isRefused {
			verdicts[i] = bestTry(header, group[i].name)
		}
	}
}

// bestTry returns the best verdict of any member on a tag.
func bestTry(header, tag string) (best verdict) {
	for next := 0; next < len(header); {
		var m member
		m, next = parseMember(header, next)
		if v := try(&m, tag); v.beats(&best) {
			best = v
		}
	}
	return best
}

// try returns the verdict of one range on a tag. The zero verdict means that the range does not find the tag. "*"
// finds any tag, after all other tries. Of the tags that one range finds, the longest is best, so the position
// includes the number of bytes that were cut off.
func try(m *member, tag string) verdict {
	switch {
	case tag == "":
		return verdict{}
	case m.name == "*":
		return verdict{min(m.quality, minQuality), wildcard, 0}
	case isShortened(m.name, tag):
		return verdict{m.quality, named, m.position + len(m.name) - len(tag)}
	}
	return verdict{}
}

// isShortened reports whether the tag equals the range or the rest of it after removing subtags from its end one by
// one. A subtag of a single character is removed together with the subtag after it.
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
