package negotiate

// Kind is what is negotiated, and by which rules.
type Kind uint8

// The kinds, each with the function that chooses by its rules.
const (
	MediaTypes        Kind = iota // MediaType
	Charsets                      // Charset
	Encodings                     // Encoding
	Languages                     // Language
	LanguagesExtended             // LanguageExtended
	LanguagesByLookup             // LanguageLookup
)

// candidate is an offer, and what the members of the header read so far say of it.
type candidate struct {
	name       string // without parameters; the type that a short name stands for; "" is no offer
	parameters string // what is behind the first semicolon of a media type
	verdict
	exact bool // it is matched by wildcards and by what is equal to it, and by nothing else
}

// verdict is what a header says of an offer. The zero value is that it is not acceptable.
type verdict struct {
	quality     int16       // 0 to 1000
	specificity specificity // of the member that says so
	order       int32       // where in the header that member is
}

// specificity grows the more a member says about what it matches. 0 is no match.
type specificity int32

const (
	wildcard specificity = 1 // "*" and "*/*" match anything
	named    specificity = 2 // others are this at least
)

// beats reports whether an offer with verdict v is to be taken rather than one with w that
// the server lists before it.
func (v *verdict) beats(w *verdict) bool {
	if v.quality != w.quality {
		return v.quality > w.quality
	}
	if v.specificity != w.specificity {
		return v.specificity > w.specificity
	}
	return v.order < w.order
}

// perPass is how many offers are held against a header at once. More of them take
// another pass, so that no number of offers needs memory.
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

// quality returns what the header says of one offer.
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

// set reads an offer of a kind.
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

// isWildcard reports whether a name matches others than itself.
func isWildcard(name string) bool { return name != "" && name[len(name)-1] == '*' }

// weigh holds the header against a few candidates and sets their verdicts.
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

// read reports whether the header has members, and sets the verdicts by them: that of
// the most specific one that matches, of equal ones the one that likes it least.
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

// acceptAll is for a header that has no preference.
func acceptAll(few []candidate) {
	for i := range few {
		if few[i].name != "" {
			few[i].verdict = verdict{quality: maxQuality, specificity: wildcard}
		}
	}
}

// matchName returns how specific a match of what has no parameters the member is, 0 if it
// is none, and the weight of the member.
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
