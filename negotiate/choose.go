package negotiate

// Kind selects the header and the rules of a negotiation.
type Kind uint8

// These are the kinds of negotiation. Each kind follows the rules of one function. For example, MediaTypes follows
// the rules of [MediaType].
const (
	MediaTypes        Kind = iota // Accept, by the rules of MediaType
	Charsets                      // Accept-Charset, by the rules of Charset
	Encodings                     // Accept-Encoding, by the rules of Encoding
	Languages                     // Accept-Language with basic filtering, by the rules of Language
	LanguagesExtended             // Accept-Language with extended filtering, by the rules of LanguageExtended
	LanguagesByLookup             // Accept-Language with lookup, by the rules of LanguageLookup
)

// groupSize is how many offers are judged in one pass over the header. More offers take further passes, so nothing is
// allocated for any number of offers.
const groupSize = 6

// choose returns the offer with the best verdict, spelled as the server spelled it, or "" if none is acceptable.
func choose(kind Kind, header string, offers []string) (winner string) {
	if len(offers) == 1 {
		return acceptOrNot(kind, header, offers[0])
	}
	var best verdict
	for len(offers) > 0 {
		var group [groupSize]offer
		n := min(len(offers), groupSize)
		for i, spelled := range offers[:n] {
			group[i].parse(kind, spelled)
		}
		if i := kind.bestOf(header, group[:n], &best); i >= 0 {
			winner = offers[i]
		}
		offers = offers[n:]
	}
	return winner
}

// bestOf returns the index of the best offer in a group if that offer beats the best one of earlier groups, and then
// updates best. Otherwise it returns -1.
func (k Kind) bestOf(header string, group []offer, best *verdict) (index int) {
	var verdicts [groupSize]verdict
	k.judge(header, group, verdicts[:len(group)])
	index = -1
	for i := range group {
		if verdicts[i].beats(best) {
			*best, index = verdicts[i], i
		}
	}
	return index
}

// acceptOrNot chooses from a single offer, which has no rivals and needs no group.
func acceptOrNot(kind Kind, header, spelled string) (winner string) {
	if quality(kind, header, spelled) == 0 {
		return ""
	}
	return spelled
}

// quality returns the weight that the header gives to one offer.
func quality(kind Kind, header, spelled string) int {
	var group [1]offer
	var verdicts [1]verdict
	group[0].parse(kind, spelled)
	kind.judge(header, group[:], verdicts[:])
	return verdicts[0].quality
}

// judge sets the verdicts of a header on a group of offers.
func (k Kind) judge(header string, group []offer, verdicts []verdict) {
	if k == LanguagesByLookup {
		lookup(header, group, verdicts)
		return
	}
	hasMembers := k.findMostSpecific(header, group, verdicts)
	switch {
	case k == Encodings:
		acceptIdentity(group, verdicts)
	case !hasMembers:
		acceptAll(group, verdicts)
	case k == Languages || k == LanguagesExtended:
		ignoreLength(verdicts)
	}
}

// findMostSpecific lets the most specific member that matches an offer decide its verdict (RFC 9110 §12.5.1). It
// reports whether the header has any members.
func (k Kind) findMostSpecific(header string, group []offer, verdicts []verdict) (hasMembers bool) {
	for next := 0; next < len(header); {
		var m member
		if m, next = parseMember(header, next); m.name == "" {
			continue
		}
		hasMembers = true
		if k == Encodings {
			m.name = canonicalCoding(m.name)
		}
		for i := range group {
			if o := &group[i]; m.mayMatch(o) {
				verdicts[i].consider(&m, k.match(&m, o))
			}
		}
	}
	return hasMembers
}

// mayMatch reports whether m can match the offer at all. It saves most calls of match, because most names differ in
// length.
func (m *member) mayMatch(o *offer) bool {
	return o.name != "" && (len(m.name) == len(o.name) || o.isPattern || isWildcard(m.name))
}

// match returns how specifically a member matches an offer.
func (k Kind) match(m *member, o *offer) specificity {
	switch k {
	case MediaTypes:
		return matchMediaType(m, o)
	case Charsets, Encodings:
		return matchToken(m.name, o.name)
	case LanguagesExtended:
		return matchExtended(m.name, o.name)
	}
	return matchBasic(m.name, o.name)
}

// acceptAll accepts all offers equally, because the client has no preference (RFC 9110 §12.4.1).
func acceptAll(group []offer, verdicts []verdict) {
	for i := range group {
		if group[i].name != "" {
			verdicts[i] = verdict{quality: maxQuality}
		}
	}
}
