package gallop

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/coding"
)

// acceptedCodings is what Accept-Encoding says (RFC 9110 §12.5.3): a quality from 0,
// not acceptable, to 1000 for each coding, or unlisted. The field may have several
// lines; each of them is added.
type acceptedCodings struct {
	quality [coding.Zstd + 1]int16
	others  int16 // of "*"
}

const unlisted = -1

func (a *acceptedCodings) reset() {
	for c := range a.quality {
		a.quality[c] = unlisted
	}
	a.others = unlisted
}

// add takes in one line of the field. Of a coding that is listed twice the lower
// quality counts, and one whose quality makes no sense is not acceptable: to send
// a coding takes consent, to send none does not.
func (a *acceptedCodings) add(line []byte) {
	for len(line) > 0 {
		var member []byte
		member, line = ascii.Cut(line, ',')
		name, parameters := ascii.Cut(member, ';')
		name = ascii.TrimOWS(name)
		to := &a.others
		if string(name) != "*" {
			c, ok := coding.Parse(name)
			if !ok {
				continue
			}
			to = &a.quality[c]
		}
		if q := weight(parameters); *to == unlisted || q < *to {
			*to = q
		}
	}
}

// choose returns the coding of those offered that the client likes best, of equals
// the first, or Identity if it likes none of them at least as much as no coding.
func (a *acceptedCodings) choose(offers []coding.Coding) coding.Coding {
	best, most := coding.Identity, int16(0)
	for _, c := range offers {
		q := a.quality[c]
		if q == unlisted {
			q = a.others
		}
		if q > most && q >= a.quality[coding.Identity] {
			best, most = c, q
		}
	}
	return best
}

// weight returns the quality in thousandths that stands in the parameters of a
// member: 1000 without one, 0 where it is malformed (RFC 9110 §12.4.2).
func weight(parameters []byte) int16 {
	for len(parameters) > 0 {
		var p []byte
		p, parameters = ascii.Cut(parameters, ';')
		name, q := ascii.Cut(p, '=')
		if ascii.EqualFold(ascii.TrimOWS(name), "q") {
			return parseQuality(ascii.TrimOWS(q))
		}
	}
	return 1000
}

// parseQuality reads 0 to 1 with at most three decimals in thousandths, and
// everything else as 0.
func parseQuality(s []byte) int16 {
	if len(s) == 0 || len(s) > len("0.123") || s[0] > '1' || len(s) > 1 && s[1] != '.' {
		return 0
	}
	q := int16(0)
	for i, unit := range [...]int16{1000, 0, 100, 10, 1} {
		if i >= len(s) || i == 1 {
			continue
		}
		if !ascii.IsDigit(s[i]) {
			return 0
		}
		q += unit * int16(s[i]-'0')
	}
	if q > 1000 {
		return 0
	}
	return q
}
