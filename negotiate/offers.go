package negotiate

import "slices"

// Offers are offers that were read beforehand, as a route does when it is registered: they
// save the work of reading them for each request. The zero value offers nothing. They
// do not change, and may be used by any number of goroutines.
type Offers struct {
	kind       Kind
	spelled    []string
	candidates []candidate
}

// NewOffers returns offers of a kind, in the order of the server's preference. They are those
// of the function by which the kind chooses.
func NewOffers(kind Kind, offers ...string) Offers {
	o := Offers{kind, slices.Clone(offers), make([]candidate, len(offers))}
	for i, offer := range offers {
		o.candidates[i].set(kind, offer)
	}
	return o
}

// Choose returns what the function of the kind would.
func (o *Offers) Choose(header string) string {
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

// ChooseBytes is Choose for a header that is bytes.
func (o *Offers) ChooseBytes(header []byte) string { return o.Choose(view(header)) }
