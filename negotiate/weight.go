package negotiate

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// Weights are counted in thousandths (RFC 9110 §12.4.2).
const (
	maxQuality = 1000 // also of members without a weight
	minQuality = 1    // the lowest weight that is not a refusal
)

// parseWeight parses parameters that consist only of a well-formed weight, such as "q=0.8".
func parseWeight(parameters string) (quality int, ok bool) {
	if value, ok := strings.CutPrefix(parameters, "q="); ok {
		return parseQuality(value)
	}
	return 0, false
}

// cutWeight returns the weight among the parameters of a member, and the parameters before it. It ignores parameters
// after the weight (RFC 9110 §12.5.1, note on accept-ext).
func cutWeight(parameters string) (before string, quality int) {
	for start := 0; start < len(parameters); {
		end := endOf(parameters, start, ';')
		if name, value := splitParameter(parameters[start:end]); name == "q" || name == "Q" {
			return parameters[:start], qualityOrMin(value)
		}
		start = end + 1
	}
	return parameters, maxQuality
}

// qualityOrMin returns the quality of a weight. Some old clients send malformed weights such as ".2". The client has
// named the member, so a malformed weight is no refusal.
func qualityOrMin(weight string) int {
	if quality, ok := parseQuality(weight); ok {
		return quality
	}
	return minQuality
}

// parseQuality parses a weight, which has one digit and at most three more after a point (RFC 9110 §12.4.2).
func parseQuality(weight string) (quality int, ok bool) {
	if weight == "" || len(weight) > len("0.123") || len(weight) > 1 && weight[1] != '.' {
		return 0, false
	}
	unit := 1000
	for i := range len(weight) {
		if i == 1 {
			continue // the point
		}
		if !ascii.IsDigit(weight[i]) {
			return 0, false
		}
		quality += unit * int(weight[i]-'0')
		unit /= 10
	}
	return quality, quality <= maxQuality
}
