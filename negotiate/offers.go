package negotiate

import "slices"

// Offers holds the parsed offers of a server, so that requests do not parse the offers again. Create Offers when you
// register a route. The zero value contains no offers. Offers never change, so you may copy them and use them
// concurrently.
type Offers struct {
	kind    Kind
	spelled []string
	parsed  []offer
}

// NewOffers parses offers of the given kind. List the offers in the order of the server's preference. [MediaType] and
// the other functions of the package describe the syntax of offers.
func NewOffers(kind Kind, offers ...string) Offers {
	o := Offers{kind, slices.Clone(offers), make([]offer, len(offers))}
	for i, spelled := range offers {
		o.parsed[i].parse(kind, spelled)
	}
	return o
}

// Choose returns the offer that the header prefers, or "" if no offer is acceptable. The kind of the Offers
// determines the rules.
func (o Offers) Choose(header string) (winner string) {
	var best verdict
	for start := 0; start < len(o.parsed); start += groupSize {
		end := min(start+groupSize, len(o.parsed))
		if i := o.kind.bestOf(header, o.parsed[start:end], &best); i >= 0 {
			winner = o.spelled[start+i]
		}
	}
	return winner
}

// ChooseBytes is like [Offers.Choose], but takes a byte slice. The method does not keep the slice.
func (o Offers) ChooseBytes(header []byte) string { return o.Choose(view(header)) }

// offer is a parsed offer. The zero value offers nothing.
type offer struct {
	name       string // without parameters, and never a short name or an old name
	parameters string // what follows the first semicolon of a media type
	isPattern  bool   // a member whose name has another length may match it
}

// parse sets o to an offer of the given kind.
func (o *offer) parse(kind Kind, spelled string) {
	switch kind {
	case MediaTypes:
		o.parseMediaType(spelled)
	case Charsets:
		o.name = spelled
	case Encodings:
		o.name = canonicalCoding(spelled)
	default:
		o.name, o.isPattern = spelled, true
	}
}
