package negotiate

// Kind is the kind of header to negotiate with, and the rules for it.
type Kind uint8

// These are the kinds of negotiation. Each has a function that follows the same rules.
const (
	MediaTypes        Kind = iota // Accept, by the rules of MediaType
	Charsets                      // Accept-Charset, by the rules of Charset
	Encodings                     // Accept-Encoding, by the rules of Encoding
	Languages                     // Accept-Language with basic filtering, by the rules of Language
	LanguagesExtended             // Accept-Language with extended filtering, by the rules of LanguageExtended
	LanguagesByLookup             // Accept-Language with lookup, by the rules of LanguageLookup
)

// candidate is an offer with the verdict of the header members that were read so far.
type candidate struct {
	name       string // without parameters; short names are expanded; "" for no offer
	parameters string // what follows the first semicolon of a media type
	verdict
	exact bool // only wildcards and equal names match it
}

// verdict is what a header says about an offer. The zero value means not acceptable.
type verdict struct {
	quality     int16       // 0 to 1000
	specificity specificity // of the member that decided
	order       int32       // position of that member in the header
}

// specificity says how specific a match is. A larger value is more specific, and 0 means no match.
type specificity int32

const (
	wildcard specificity = 1 // "*" and "*/*" match anything
	named    specificity = 2 // minimum for a match by name
)

// beats reports whether an offer with verdict v wins over one with w that the server lists before it.
func (v *verdict) beats(w *verdict) bool {
	if v.quality != w.quality {
		return v.quality > w.quality
	}
	if v.specificity != w.specificity {
		return v.specificity > w.specificity
	}
	return v.order < w.order
}

// perPass is how many offers are matched in one pass over the header. More offers take further passes, so nothing is
// allocated for any number of offers.
const perPass = 6

// choose returns the best of the offers, or "".
func choose(kind Kind, header string, offers []string) (winner string) {
	if len(offers) == 1 {
		if quality(kind, header, offers[0]) > 0 {
			return offers[0]
		}
		return ""
	}
	var best verdict
	for len(offers) > 0 {
		var few [perPass]candidate
		n := min(perPass, len(offers))
		for i, offer := range offers[:n] {
			few[i].set(kind, offer)
		}
		kind.weigh(header, few[:n])
		if i := bestOf(few[:n], &best); i >= 0 {
			winner = offers[i]
		}
		offers = offers[n:]
	}
	return winner
}

// quality returns the weight that the header gives to one offer.
func quality(kind Kind, header, offer string) int16 {
	var few [1]candidate
	few[0].set(kind, offer)
	kind.weigh(header, few[:])
	return few[0].quality
}

// bestOf returns the index of the best candidate that beats the best one so far, whose verdict it
// replaces, or -1 if there is none.
func bestOf(few []candidate, best *verdict) (index int) {
	index = -1
	for i := range few {
		if v := &few[i].verdict; v.quality > 0 && v.beats(best) {
			*best, index = *v, i
		}
	}
	return index
}

// set parses an offer of the given kind.
func (c *candidate) set(kind Kind, offer string) {
	c.name = offer
	switch kind {
	case MediaTypes:
		c.setMediaType(offer)
	case Encodings:
		c.setEncoding(offer)
	}
	c.exact = kind < Languages && !isWildcard(c.name)
}

// isWildcard reports whether a name ends in "*", so that it can match other names.
func isWildcard(name string) bool { return name != "" && name[len(name)-1] == '*' }

// weigh matches the header against a few candidates and sets their verdicts.
func (k Kind) weigh(header string, few []candidate) {
	if k == LanguagesByLookup {
		lookup(header, few)
		return
	}
	if !k.read(header, few) && k != Encodings {
		acceptAll(few)
	}
	if k >= Languages {
		// Ranges that are longer say more about one tag, but nothing about
		// which of two tags the client likes better.
		for i := range few {
			few[i].specificity = min(few[i].specificity, named)
		}
	}
}

// read sets the verdicts from the members of the header, and reports whether there are any. The most specific
// matching member decides, and among equally specific ones the one with the lowest weight.
func (k Kind) read(header string, few []candidate) (any bool) {
	var m member
	for order := int32(0); header != ""; order++ {
		if header = m.cutFrom(header); m.name == "" {
			continue
		}
		if k == Encodings {
			m.name = canonicalCoding(m.name)
		}
		any = true
		exact := !isWildcard(m.name)
		for i := range few {
			c := &few[i]
			if exact && c.exact && len(m.name) != len(c.name) {
				continue
			}
			var s specificity
			var q int16
			if k == MediaTypes {
				s, q = matchMediaType(&m, c)
			} else {
				s, q = k.matchName(&m, c.name)
			}
			if s > c.specificity || s > 0 && s == c.specificity && q < c.quality {
				c.verdict = verdict{q, s, order}
			}
		}
	}
	return any
}

// acceptAll accepts all candidates equally, for a header without members.
func acceptAll(few []candidate) {
	for i := range few {
		if few[i].name != "" {
			few[i].verdict = verdict{quality: maxQuality, specificity: wildcard}
		}
	}
}

// matchName returns how specifically the member matches a name without parameters, and the member's weight. A
// specificity of 0 means no match.
func (k Kind) matchName(m *member, name string) (s specificity, quality int16) {
	switch k {
	case Languages:
		s = matchBasic(m.name, name)
	case LanguagesExtended:
		s = matchExtended(m.name, name)
	default:
		s = matchToken(m.name, name)
	}
	if m.parameters == "" {
		return s, m.quality
	}
	return s, m.weight()
}
