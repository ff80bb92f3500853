package negotiate

import "slices"

// Offers are the offers of a server, parsed once instead of for each request. Make them when a route is registered.
// The zero value offers nothing. Offers are immutable, so they may be copied and used concurrently.
type Offers struct {
	kind       Kind
	spelled    []string
	candidates []candidate
}

// NewOffers parses offers of a kind, listed in the order of the server's preference. See the function of that kind
// for what an offer looks like.
func NewOffers(kind Kind, offers ...string) Offers {
	o := Offers{kind, slices.Clone(offers), make([]candidate, len(offers))}
	for i, offer := range offers {
		o.candidates[i].set(kind, offer)
	}
	return o
}

// Choose returns the offer that the header prefers by the rules of the kind, or "" if no offer is acceptable.
func (o Offers) Choose(header string) string {
	var best verdict
	winner := ""
	for start := 0; start < len(o.candidates); start += perPass {
		var few [perPass]candidate
		n := copy(few[:], o.candidates[start:])
		o.kind.weigh(header, few[:n])
		if i := bestOf(few[:n], &best); i >= 0 {
			winner = o.spelled[start+i]
		}
	}
	return winner
}

// ChooseBytes is like [Offers.Choose], but takes a byte slice, which it does not keep.
func (o Offers) ChooseBytes(header []byte) string { return o.Choose(view(header)) }
