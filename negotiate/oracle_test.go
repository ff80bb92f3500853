package negotiate

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// The oracle implements RFC 9110 §12.5 and RFC 4647 slowly and literally: a header becomes a list of ranges, each
// offer gets the quality that the text defines, and the offers are sorted. The package must choose the same offers.

// oracleRange is a member of a header.
type oracleRange struct {
	name       string // in lower case
	parameters map[string]string
	quality    int
	order      int
}

// oracleParameter matches one parameter up to the semicolon after it. In a quoted string, a backslash quotes the next
// character. An unterminated string extends to the end.
var (
	oracleParameter = regexp.MustCompile(`^(?s)(?:[^;"]|"(?:[^"\\]|\\.)*(?:"|\\?$))*`)
	oracleMember    = regexp.MustCompile(`^(?s)[^,;]*(?:;(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?$))*)?`)
	oracleWeight    = regexp.MustCompile(`^(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$`)
	oracleString    = regexp.MustCompile(`^(?s)"((?:[^"\\]|\\.)*)"$`)
	oraclePair      = regexp.MustCompile(`(?s)\\(.)`)
)

// lower is strings.ToLower for ASCII only.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func blankTrimmed(s string) string { return strings.Trim(s, " \t") }

// oracleRanges parses a header.
func oracleRanges(header string) (ranges []oracleRange) {
	for order := 0; header != ""; order++ {
		member := oracleMember.FindString(header)
		header = strings.TrimPrefix(header[len(member):], ",")
		name, parameters, _ := strings.Cut(member, ";")
		if name = lower(blankTrimmed(name)); name == "" {
			continue
		}
		r := oracleRange{name: name, order: order, quality: 1000}
		r.parameters, r.quality = oracleParameters(parameters)
		ranges = append(ranges, r)
	}
	return ranges
}

// oracleNoValue is the value of a string that is unterminated or followed by other text. No offer has this value.
const oracleNoValue = "\x00 not a value"

// oracleParameters parses everything after the first semicolon.
func oracleParameters(text string) (parameters map[string]string, quality int) {
	parameters = map[string]string{}
	for text != "" {
		p := oracleParameter.FindString(text)
		text = strings.TrimPrefix(text[len(p):], ";")
		if p = blankTrimmed(p); p == "" {
			continue
		}
		name, value, _ := strings.Cut(p, "=")
		name, value = lower(blankTrimmed(name)), blankTrimmed(value)
		if name == "q" {
			if !oracleWeight.MatchString(value) {
				return parameters, 1
			}
			f, _ := strconv.ParseFloat(value, 64)
			return parameters, int(f*1000 + 0.5)
		}
		if strings.HasPrefix(value, `"`) {
			m := oracleString.FindStringSubmatch(value)
			if m == nil {
				parameters[name] = oracleNoValue
				continue
			}
			value = oraclePair.ReplaceAllString(m[1], "$1")
		}
		parameters[name] = lower(value)
	}
	return parameters, 1000
}

// oracleOffer is the result for an offer: the quality, and what decides between equal qualities.
type oracleOffer struct {
	index       int
	quality     int
	specificity int
	order       int
}

// oracleChoose returns the best offer and the quality of each.
func oracleChoose(kind Kind, header string, offers []string) (winner string, qualities []int) {
	ranges := oracleRanges(header)
	qualities = make([]int, len(offers))
	var acceptable []oracleOffer
	for i, offer := range offers {
		o := oracleJudge(kind, ranges, offer)
		if qualities[i] = o.quality; o.quality > 0 {
			o.index = i
			acceptable = append(acceptable, o)
		}
	}
	slices.SortStableFunc(acceptable, func(a, b oracleOffer) int {
		switch {
		case a.quality != b.quality:
			return b.quality - a.quality
		case a.specificity != b.specificity:
			return b.specificity - a.specificity
		}
		return a.order - b.order
	})
	if len(acceptable) == 0 {
		return "", qualities
	}
	return offers[acceptable[0].index], qualities
}

// oracleJudge returns the result of matching the ranges against an offer.
func oracleJudge(kind Kind, ranges []oracleRange, offer string) oracleOffer {
	if offer == "" {
		return oracleOffer{}
	}
	if len(ranges) == 0 && kind != Encodings {
		return oracleOffer{quality: 1000} // §12.4.1, §12.5: no preference
	}
	var most *oracleRange // the most specific range that matches
	mostSpecific := 0
	for i := range ranges {
		r := &ranges[i]
		s := oracleSpecificity(kind, r, offer)
		if s > mostSpecific || s > 0 && s == mostSpecific && r.quality < most.quality {
			most, mostSpecific = r, s
		}
	}
	switch {
	case most != nil && (kind == Languages || kind == LanguagesExtended):
		return oracleOffer{0, most.quality, min(mostSpecific, 2), most.order}
	case most != nil:
		return oracleOffer{0, most.quality, mostSpecific, most.order}
	case kind == Encodings && lower(offer) == "identity":
		return oracleOffer{quality: 1} // §12.5.3, rule 2
	}
	return oracleOffer{}
}

// oracleSpecificity returns 0 if the range does not match the offer.
func oracleSpecificity(kind Kind, r *oracleRange, offer string) int {
	switch kind {
	case MediaTypes:
		return oracleMediaType(r, offer)
	case Languages:
		tag := lower(offer)
		if r.name == "*" {
			return 1
		}
		if tag == r.name || strings.HasPrefix(tag, r.name+"-") {
			return 1 + strings.Count(r.name, "-") + 1
		}
		return 0
	case LanguagesExtended:
		if r.name == "*" {
			return 1
		}
		pattern := strings.Split(strings.TrimSuffix(r.name, "-"), "-")
		if !oracleExtended(pattern, strings.Split(lower(offer), "-")) {
			return 0
		}
		named := 0
		for _, subtag := range pattern {
			if subtag != "*" {
				named++
			}
		}
		return 2 + named
	}
	name, offered := r.name, lower(offer)
	if kind == Encodings {
		old := map[string]string{"x-gzip": "gzip", "x-compress": "compress"}
		if now, ok := old[name]; ok {
			name = now
		}
		if now, ok := old[offered]; ok {
			offered = now
		}
	}
	switch name {
	case offered:
		return 2
	case "*":
		return 1
	}
	return 0
}

// oracleExtended implements RFC 4647 §3.3.2 step by step.
func oracleExtended(pattern, tag []string) bool {
	if pattern[0] != "*" && pattern[0] != tag[0] {
		return false
	}
	pattern, tag = pattern[1:], tag[1:]
	for len(pattern) > 0 {
		switch {
		case pattern[0] == "*":
			pattern = pattern[1:]
		case len(tag) == 0:
			return false
		case pattern[0] == tag[0]:
			pattern, tag = pattern[1:], tag[1:]
		case len(tag[0]) == 1:
			return false
		default:
			tag = tag[1:]
		}
	}
	return true
}

// oracleMediaType implements RFC 9110 §12.5.1.
func oracleMediaType(r *oracleRange, offer string) int {
	name, text, _ := strings.Cut(offer, ";")
	if !strings.Contains(name, "/") {
		if name = TypeByExtension(name); name == "" {
			name = "application/octet-stream"
		}
	}
	name = lower(name)
	kind, _, _ := strings.Cut(name, "/")
	theirs, _, _ := strings.Cut(r.name, "/")
	s := 0
	switch {
	case r.name == name:
		s = 3
	case r.name == "*/*" || r.name == "*":
		s = 1
	case r.name == kind+"/*":
		s = 2
	case name == kind+"/*" && kind == theirs && strings.Contains(r.name, "/") && !strings.HasSuffix(r.name, "*") && r.quality > 0:
		s = 3
	default:
		return 0
	}
	offered, _ := oracleParameters(strings.ReplaceAll(text, "q=", "not-the-weight="))
	for name, value := range r.parameters {
		if its, ok := offered[name]; !ok || its != value {
			return 0
		}
	}
	return s<<8 + len(r.parameters)
}

// oracleLookup implements RFC 4647 §3.4, with refusals.
func oracleLookup(header string, offers []string) string {
	ranges := oracleRanges(header)
	refused := func(tag string) bool {
		if tag == "" {
			return true
		}
		length, quality := 0, 1000
		for _, r := range ranges {
			if lower(tag) != r.name && !strings.HasPrefix(lower(tag), r.name+"-") {
				continue
			}
			if len(r.name) > length || len(r.name) == length && r.quality < quality {
				length, quality = len(r.name), r.quality
			}
		}
		return quality == 0
	}
	first := func(found func(tag string) bool) string {
		i := slices.IndexFunc(offers, func(tag string) bool { return !refused(tag) && found(tag) })
		if i < 0 {
			return ""
		}
		return offers[i]
	}
	anything := len(ranges) == 0
	byLiking := slices.Clone(ranges)
	slices.SortStableFunc(byLiking, func(a, b oracleRange) int { return b.quality - a.quality })
	for _, r := range byLiking {
		if r.quality == 0 {
			continue
		}
		if r.name == "*" {
			anything = true
			continue
		}
		for subtags := strings.Split(r.name, "-"); len(subtags) > 0; {
			wanted := strings.Join(subtags, "-")
			if tag := first(func(tag string) bool { return lower(tag) == wanted }); tag != "" {
				return tag
			}
			subtags = subtags[:len(subtags)-1]
			for n := len(subtags); n > 0 && len(subtags[n-1]) == 1; n-- { // each one is removed together with the subtag after it
				subtags = subtags[:n-1]
			}
		}
	}
	if anything {
		return first(func(string) bool { return true })
	}
	return ""
}

// checkAgainstOracle compares the choices of the package and the oracle.
func checkAgainstOracle(t *testing.T, kind Kind, header string, offers []string) {
	t.Helper()
	got := chooseInEveryWay(t, kind, header, offers)
	if kind == LanguagesByLookup {
		if want := oracleLookup(header, offers); got != want {
			t.Errorf("%q of %q: looked %q up, want %q", header, offers, got, want)
		}
		return
	}
	want, qualities := oracleChoose(kind, header, offers)
	if got != want {
		t.Errorf("%q of %q: chose %q, want %q", header, offers, got, want)
	}
	for i, offer := range offers {
		if q := Quality(kind, header, offer); q != qualities[i] {
			t.Errorf("%q: quality of %q is %d, want %d", header, offer, q, qualities[i])
		}
	}
}

// vocabulary is the material for random headers and offers.
var vocabulary = [...]struct{ members, offers string }{
	MediaTypes: {
		"*/* * text/* text/html text/plain TEXT/HTML application/* application/json image/png text/html/x text tex* /",
		"text/html text/plain text/* Application/JSON json html .png foo image/png text/html;a=1 text/html;a=1;b=2 text/html;b=\"2\";A=X " +
			"text/plain;a=\"1;b=2\" text/*;a=1 text/plain;a=\"x\\\"y\" text/html;q=1",
	},
	Charsets:          {"* utf-8 UTF-8 iso-8859-1 utf-* ascii", "utf-8 Utf-8 iso-8859-1 ascii"},
	Encodings:         {"* gzip x-gzip X-GZIP br identity compress x-br g*", "gzip x-gzip br identity Identity compress x-compress zstd"},
	Languages:         {"* en en-us en-US-x de de-* *-us fr x i-de", "en en-US en-US-x-a de de-CH fr e"},
	LanguagesExtended: {"* en en-us de de-* de-*-DE *-us *-* de-x-DE x-*", "en en-US en-Latn-US de de-Latn-DE de-x-DE de-DE-x-goethe fr x-a"},
	LanguagesByLookup: {"* en en-us en-us-x-a de de-ch-1996 fr i-de x-y-z en-x", "en en-US en-US-x de de-CH fr i i-de x x-y"},
}

var (
	randomParameters = strings.Fields(`a=1 a=2 A=1 b=2 b="2" b=\2 b=x a="1;b=2" a="x\"y" a="1 a=, a c=1`)
	randomWeights    = strings.Fields("0 0.0 0.5 0.500 0.001 0.999 1 1.0 .5 x 1.5 0.9 0.9 0.9")
	randomBlanks     = []string{"", "", "", "", " ", "\t", "  "}
)

// randomHeader returns a header of this kind.
func randomHeader(r *rand.Rand, kind Kind) string {
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	names := strings.Fields(vocabulary[kind].members)
	var b strings.Builder
	for i := range r.IntN(6) {
		if i > 0 {
			b.WriteString(pick(randomBlanks) + "," + pick(randomBlanks))
		}
		if r.IntN(20) == 0 {
			continue // an empty member
		}
		b.WriteString(pick(names))
		for range r.IntN(6) - 3 {
			b.WriteString(pick(randomBlanks) + ";" + pick(randomBlanks) + pick(randomParameters))
		}
		if r.IntN(3) > 0 {
			b.WriteString(pick(randomBlanks) + ";" + pick(randomBlanks) + "q=" + pick(randomWeights))
		}
		if r.IntN(20) == 0 {
			b.WriteString(";")
		}
	}
	return b.String()
}

// randomOffers returns offers of this kind.
func randomOffers(r *rand.Rand, kind Kind) (offers []string) {
	names := append(strings.Fields(vocabulary[kind].offers), "")
	for range r.IntN(10) {
		offers = append(offers, names[r.IntN(len(names))])
	}
	return offers
}

func TestAgreesWithTheRFC(t *testing.T) {
	rounds := 5000
	if wiretest.Full() {
		rounds = 20_000
	}
	r := rand.New(rand.NewPCG(9110, 4647))
	for kind := MediaTypes; kind <= LanguagesByLookup; kind++ {
		for range rounds {
			checkAgainstOracle(t, kind, randomHeader(r, kind), randomOffers(r, kind))
			if t.Failed() {
				return
			}
		}
	}
}

// fuzzKind lets the fuzzer write headers and tries each of them with all offers.
func fuzzKind(f *testing.F, kinds ...Kind) {
	r := rand.New(rand.NewPCG(12, 5))
	for _, kind := range kinds {
		for range 20 {
			f.Add(randomHeader(r, kind), uint16(r.Uint32()))
		}
	}
	f.Fuzz(func(t *testing.T, header string, which uint16) {
		for _, kind := range kinds {
			var offers []string
			for i, offer := range strings.Fields(vocabulary[kind].offers) {
				if which>>i&1 == 1 {
					offers = append(offers, offer)
				}
			}
			checkAgainstOracle(t, kind, header, offers)
		}
	})
}

func FuzzMediaType(f *testing.F) { fuzzKind(f, MediaTypes) }
func FuzzCharset(f *testing.F)   { fuzzKind(f, Charsets) }
func FuzzEncoding(f *testing.F)  { fuzzKind(f, Encodings) }
func FuzzLanguage(f *testing.F)  { fuzzKind(f, Languages, LanguagesExtended, LanguagesByLookup) }

func FuzzAppendVary(f *testing.F) {
	f.Add("Accept, Origin", "accept")
	f.Add("*", "")
	f.Fuzz(func(t *testing.T, had, field string) {
		if !ascii.IsToken(field) {
			return
		}
		once := string(AppendVary(nil, had, field))
		if again := string(AppendVary(nil, once, field)); again != once {
			t.Errorf("%q and %q: %q, and again %q", had, field, once, again)
		}
	})
}
