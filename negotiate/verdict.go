package negotiate

// verdict is what a header says about an offer. The zero value means not acceptable.
type verdict struct {
	quality     int         // 0 to maxQuality
	specificity specificity // of the member that decided
	position    int         // of that member in the header
}

// specificity says how specific a match is. A larger value is more specific, and 0 means no match.
type specificity int

const (
	wildcard specificity = 1 // "*" matches anything
	named    specificity = 2 // minimum for a match by name
)

// beats reports whether an offer with verdict v wins over one with verdict w that the server lists before it. An
// offer that is not acceptable never wins.
func (v *verdict) beats(w *verdict) bool {
	switch {
	case v.quality == 0:
		return false
	case v.quality != w.quality:
		return v.quality > w.quality
	case v.specificity != w.specificity:
		return v.specificity > w.specificity
	}
	return v.position < w.position
}

// consider updates the verdict on an offer that m matches with the given specificity. Among equally specific members,
// the one with the lowest weight decides, so "gzip, gzip;q=0" is a refusal.
func (v *verdict) consider(m *member, s specificity) {
	if s > v.specificity || s > 0 && s == v.specificity && m.quality < v.quality {
		v.quality, v.specificity, v.position = m.quality, s, m.position
	}
}
