package negotiate

import (
	"strings"
	"testing"
	"time"
)

// row says which of the offers, separated by "|", the header chooses; "" means no offer.
type row struct{ name, header, offers, want string }

func testRows(t *testing.T, kind Kind, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var offers []string
			if r.offers != "-" {
				offers = strings.Split(r.offers, "|")
			}
			if got := chooseInEveryWay(t, kind, r.header, offers); got != r.want {
				t.Errorf("%q of %q: chose %q, want %q", r.header, offers, got, r.want)
			}
		})
	}
}

// chooseInEveryWay returns the offer that is chosen, and checks that all functions choose the same one.
func chooseInEveryWay(t *testing.T, kind Kind, header string, offers []string) string {
	t.Helper()
	before := strings.Clone(header)
	bytes := []byte(header)
	var want, of string
	switch kind {
	case MediaTypes:
		want, of = MediaType(header, offers...), MediaType(bytes, offers...)
	case Charsets:
		want, of = Charset(header, offers...), Charset(bytes, offers...)
	case Encodings:
		want, of = Encoding(header, offers...), Encoding(bytes, offers...)
	case Languages:
		want, of = Language(header, offers...), Language(bytes, offers...)
	case LanguagesExtended:
		want, of = LanguageExtended(header, offers...), LanguageExtended(bytes, offers...)
	case LanguagesByLookup:
		want, of = LanguageLookup(header, offers...), LanguageLookup(bytes, offers...)
	}
	prepared := NewOffers(kind, offers...)
	if of != want || prepared.Choose(header) != want || prepared.ChooseBytes(bytes) != want {
		t.Errorf("%q of %q: a string chooses %q, bytes %q, prepared offers %q, %q", header, offers,
			want, of, prepared.Choose(header), prepared.ChooseBytes(bytes))
	}
	if string(bytes) != before {
		t.Errorf("%q became %q", before, bytes)
	}
	best := 0
	for _, offer := range offers {
		q := Quality(kind, header, offer)
		if q < 0 || q > 1000 {
			t.Errorf("%q likes %q to %d", header, offer, q)
		}
		if offer == want && want != "" && q == 0 {
			t.Errorf("%q: chose %q, which is not acceptable", header, want)
		}
		best = max(best, q)
	}
	if (want != "") != (best > 0) || want != "" && Quality(kind, header, want) != best {
		t.Errorf("%q of %q: chose %q, the best quality being %d", header, offers, want, best)
	}
	return want
}

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

func TestMediaType(t *testing.T) {
	testRows(t, MediaTypes, []row{
		{"nothing offered", "text/html", "-", ""},
		{"no header", "", "json|html", "json"},
		{"no header, an offer that is none", "", "|json", "json"},
		{"only commas", ", ,\t,", "json|html", "json"},
		{"other", "text/html", "application/json", ""},
		{"refused", "text/html;q=0", "text/html", ""},
		{"refused as all others", "application/json, */*; q=0", "image/png", ""},
		{"refused as all others, by a short name", "application/json, text/plain, */*;q=0", "html", ""},
		{"what browsers send", browser, "application/xml|application/json", "application/xml"},
		{"what browsers send, the best", browser, "text/html", "text/html"},
		{"the client's order beats ours", "text/html,application/xhtml+xml,application/xml;q=0.9",
			"application/xml|application/xml+rss|application/yaml|application/xhtml+xml", "application/xhtml+xml"},
		{"an extension", "text/html,application/xhtml+xml,application/xml;q=0.9", ".xml", ".xml"},
		{"an unknown extension", "text/html,application/xhtml+xml,application/xml;q=0.9", ".john", ""},
		{"an offer that is none", "text/html,application/xhtml+xml,application/xml;q=0.9", "", ""},
		{"refused among others", "text/plain;q=0,application/pdf;q=0.9,*/*;q=0.000", "application/pdf|application/json", "application/pdf"},
		{"blanks behind", "text/plain  ", "text/plain", "text/plain"},
		{"blanks behind the weight", "text/plain;q=0.4  ", "text/plain", "text/plain"},
		{"semicolon behind the weight", "text/plain;q=0.4  ;", "text/plain", "text/plain"},
		{"semicolon and nothing", "text/plain;", "text/plain", "text/plain"},
		{"parameter behind the weight", "text/plain;q=0.4  ; p=foo", "text/plain", "text/plain"},
		{"other type with plus", "application/json", "application/json+xml", ""},
		{"case of the range", "Application/JSON", "application/json", "application/json"},
		{"case of the offer", "application/json", "Application/JSON", "Application/JSON"},
		{"short names", "text/*, application/json", "json|text", "json"},
		{"short names, wildcard", "text/*, application/json", "html", "html"},
		{"short names, full type", "text/*, application/json", "image/png", ""},
		{"short names, other", "text/*, application/json", "png", ""},
		{"short name in capitals", "application/json", ".JSON", ".JSON"},
		{"wildcard offered", "text/html, application/json", "text/*", "text/*"},
		{"wildcard offered, a type refused", "text/html;q=0, text/plain", "text/*", "text/*"},
		{"wildcard offered, all refused", "text/html;q=0, text/*;q=0, */*", "text/*", ""},
		{"anything", "*/*", "html", "html"},
		{"anything, a short name", "*/*;q=0.9", "html", "html"},
		{"anything, an unknown name", "*/*;q=0.9", "foo", "foo"},
		{"anything, an unknown extension", "*/*;q=0.9", ".bar", ".bar"},
		{"anything, as old clients have it", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "json", "json"},
		{"type and wildcard", "text/html,application/*;q=0.9", "xml", "xml"},
		{"name of the weight in capitals", "text/html;Q=0.2", "html", "html"},
		{"refused in capitals", "text/html;Q=0", "html", ""},
		{"less in capitals", "text/html;Q=0.2, application/json;q=0.8", "html|json", "json"},
		{"two lines", "text/plain;q=0.5,application/json", "text/plain|application/json", "application/json"},
		{"refused below a wildcard", "text/*, text/html;q=0", "text/html", ""},
		{"not refused below a wildcard", "text/*, text/html;q=0", "text/plain", "text/plain"},
		{"refused below anything", "*/*, application/json;q=0", "application/json", ""},
		{"blank before the comma", "text/html;q=0 , text/plain", "text/html", ""},
		{"blank before the comma, both", "text/html;q=0 , text/plain", "text/html|text/plain", "text/plain"},
		{"tab before the comma", "text/html;q=0\t, text/plain", "text/html|text/plain", "text/plain"},
		{"tab behind the semicolon", "text/html;\tq=0", "text/html", ""},
		{"weights", "text/plain;q=0.1 , application/json;q=0.9", "text/plain|application/json", "application/json"},
		{"more offers than are read at once", "z/z, c/c;q=0.1", "a/a|b/b|c/c|d/d|e/e|f/f|g/g|h/h|z/z|i/i", "z/z"},
		{"not a media type", "json", "json", ""},
	})
}

func TestMediaTypeParameters(t *testing.T) {
	testRows(t, MediaTypes, []row{
		{"equal", "text/plain;a=1", "text/plain;a=1", "text/plain;a=1"},
		{"one is missing", "text/plain;a=1;b=2", "text/plain;b=2", ""},
		{"in another order", "text/plain ;a=1;b=2", "text/plain;b=2;a=1", "text/plain;b=2;a=1"},
		{"blanks", "text/plain;   a=1   ", "text/plain;a=1", "text/plain;a=1"},
		{"separators in quotes", `text/plain;a="1;b=2\",text/plain";q=0.9`,
			`text/plain;a=1;b=2|text/plain;a="1;b=2\",text/plain"`, `text/plain;a="1;b=2\",text/plain"`},
		{"a quoted quote does not end the string", `text/html;p="a\"b", text/plain`, "text/plain", "text/plain"},
		{"case", `text/plain;a="caPs"`, "text/plain;A=CAPS", "text/plain;A=CAPS"},
		{"case of the type", "Text/Plain;a=1", "text/plain;a=1", "text/plain;a=1"},
		{"not asked for", "text/plain", "text/plain|text/plain;a=1", "text/plain"},
		{"not asked for, our order", "text/plain", "text/plain;a=1||text/plain", "text/plain;a=1"},
		{"more specific", "text/plain,text/plain;a=1", "text/plain|text/plain;a=1", "text/plain;a=1"},
		{"less liked", "text/plain;q=0.899,text/plain;a=1;q=0.898", "text/plain|text/plain;a=1", "text/plain"},
		{"most specific", "text/plain,text/plain;a=1,text/plain;a=1;b=2",
			"text/plain|text/plain;a=1|text/plain;a=1;b=2", "text/plain;a=1;b=2"},
		{"twice, the last counts", "text/plain;a=1;b=1;B=2", "text/plain;a=1;b=1|text/plain;a=1;b=2", "text/plain;a=1;b=2"},
		{"refused with a parameter", "text/html, text/html;level=1;q=0", "text/html;level=1", ""},
		{"not refused without it", "text/html, text/html;level=1;q=0", "text/html", "text/html"},
		{"refused but for a parameter", "text/html;level=1, text/html;q=0", "text/html;level=1", "text/html;level=1"},
		{"of the offer, q means nothing", "application/json;version=1;format=foo",
			"application/json;version=1;format=foo;q=0.1", "application/json;version=1;format=foo;q=0.1"},
		{"of the offer, blanks", "application/json;format=foo;version=1",
			"application/json;  version=1 ;    format=foo   ", "application/json;  version=1 ;    format=foo   "},
		{"the offer has none", "text/html;charset=utf-8", "text/html", ""},
		{"the offer has more", "text/html", "text/html;charset=utf-8", "text/html;charset=utf-8"},
		{"quoted in the offer", `application/json;format="foo bar";version=1`,
			`application/json;version="1";format="foo bar"`, `application/json;version="1";format="foo bar"`},
		{"a string that does not end, in the offer", "text/plain;foo=bar", `text/plain;foo="bar\\`, ""},
		{"a string that does not end, in the header", `text/plain;foo="bar, text/html`, "text/plain;foo=bar|text/html", ""},
		{"on anything", "*/*;a=1", "text/plain|text/html;a=1", "text/html;a=1"},
		{"on a wildcard", "text/*;a=1", "text/plain|text/html;a=1", "text/html;a=1"},
		{"blanks around the equals sign", "text/plain;a = 1;q = 0", "text/plain;a=1", ""},
		{"without a value", "text/plain;a", "text/plain|text/plain;a=1|text/plain;a", "text/plain;a"},
		{"empty ones", "text/plain;;a=1; ;q=0.5", "text/plain;;a=1", "text/plain;;a=1"},
		{"more than ten", "text/plain;k=11;a=1", "text/plain;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=10;k=11|text/plain;k=11",
			"text/plain;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=10;k=11"},
		{"begin like the weight", "text/plain;qs=0", "text/plain;qs=0", "text/plain;qs=0"},
	})
}

// The examples of RFC 9110 §12.5.1 and their consequences.
func TestMediaTypeByTheMostSpecificRange(t *testing.T) {
	const example = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, text/plain;format=fixed;q=0.4, */*;q=0.5"
	for offer, want := range map[string]int{
		"text/plain;format=flowed": 1000, "text/plain": 700, "text/html": 300, "image/jpeg": 500,
		"text/plain;format=fixed": 400, "text/html;level=3": 300,
	} {
		if got := Quality(MediaTypes, example, offer); got != want {
			t.Errorf("quality of %q: %d, want %d", offer, got, want)
		}
	}
	testRows(t, MediaTypes, []row{
		{"a wildcard may be liked better", "text/html;q=0.5, */*;q=0.8", "html|json", "json"},
		{"as in the RFC", example, "text/plain;format=fixed|image/jpeg", "image/jpeg"},
		{"audio", "audio/*; q=0.2, audio/basic", "audio/mpeg|audio/basic", "audio/basic"},
		{"specific before the client's order", "*/*, text/html", "json|html", "html"},
		{"the client's order before ours", "text/html, application/json", "json|html", "html"},
		{"named twice", "text/html, text/html;q=0.1, text/plain;q=0.5", "text/html|text/plain", "text/plain"},
	})
}

func TestWeights(t *testing.T) {
	for weight, want := range map[string]int{
		"0": 0, "0.": 0, "0.0": 0, "0.000": 0, "1": 1000, "1.": 1000, "1.000": 1000,
		"0.5": 500, "0.05": 50, "0.005": 5, "0.123": 123, "0.999": 999,
		// None of these is a weight.
		"": 1, ".2": 1, "2": 1, "1.001": 1, "1.1": 1, "0.1234": 1, "0.0000": 1, "-1": 1, "+1": 1, "00": 1, "05": 1,
		"1e1": 1, "Inf": 1, "NaN": 1, "0x1": 1, "x": 1, "0.x": 1, "0.1x": 1, "9.0": 1, "0 .5": 1, `"0"`: 1, "0/5": 1,
	} {
		for _, form := range []string{"gzip;q=", "gzip; Q=", "gzip;level=9;q=", "gzip ; q = "} {
			header := form + weight
			if got := Quality(Encodings, header, "gzip"); got != want {
				t.Errorf("%q: %d, want %d", header, got, want)
			}
		}
	}
}

func TestCharset(t *testing.T) {
	testRows(t, Charsets, []row{
		{"nothing offered", "utf-8, iso-8859-1;q=0.5", "-", ""},
		{"no header", "", "utf-8|iso-8859-1", "utf-8"},
		{"other", "utf-8, iso-8859-1;q=0.5", "ascii", ""},
		{"named", "utf-8, iso-8859-1;q=0.5", "utf-8", "utf-8"},
		{"case", "UTF-8", "utf-8", "utf-8"},
		{"refused", "utf-8;q=0, iso-8859-1;q=0.5", "utf-8|iso-8859-1", "iso-8859-1"},
		{"a star is no pattern", "utf-*", "utf-8", ""},
		{"a star is no pattern, others", "utf-8;q=0.4, utf-*;q=0.8, iso-8859-1;q=0.6", "iso-8859-1|utf-16le", "iso-8859-1"},
		{"a star is no pattern, in front", "utf-*;q=0.9, iso-8859-1;q=1", "x-utf-16|iso-8859-1", "iso-8859-1"},
		{"named and refused", "utf-8, utf-8;q=0", "utf-8", ""},
		{"any but", "*, utf-8;q=0", "utf-8", ""},
		{"any but, another", "*, utf-8;q=0", "utf-8|iso-8859-1", "iso-8859-1"},
		{"two lines", "utf-8;q=0.1,iso-8859-1", "utf-8|iso-8859-1", "iso-8859-1"},
	})
}

func TestEncoding(t *testing.T) {
	testRows(t, Encodings, []row{
		{"named", "gzip, deflate", "deflate", "deflate"},
		{"refused", "gzip, deflate;q=0", "deflate", ""},
		{"any but", "*, gzip;q=0", "gzip|deflate", "deflate"},
		{"any but, nothing else", "*, gzip;q=0", "gzip", ""},
		{"blank before the comma", "gzip;q=0 , deflate", "gzip|deflate", "deflate"},
		{"any", "deflate, gzip;q=1.0, *;q=0.5", "gzip", "gzip"},
		{"any, unknown", "deflate, gzip;q=1.0, *;q=0.5", "abc", "abc"},
		{"two lines", "deflate;q=0.3,gzip", "deflate|gzip", "gzip"},

		// RFC 9110 §12.5.3.
		{"no header", "", "gzip|br", ""},
		{"no header, identity", "", "gzip|identity", "identity"},
		{"only commas", " , ", "gzip|identity", "identity"},
		{"identity need not be named", "gzip", "identity", "identity"},
		{"identity comes last", "gzip;q=0.001", "identity|gzip", "gzip"},
		{"identity is liked better", "gzip;q=0.5, identity", "gzip|identity", "identity"},
		{"identity is any", "gzip;q=0.5, *;q=0.8", "gzip|identity", "identity"},
		{"identity refused", "gzip, identity;q=0", "identity", ""},
		{"identity refused as all others", "gzip, *;q=0", "identity", ""},
		{"identity but not all others", "identity, *;q=0", "gzip|identity", "identity"},
		{"identity but not all others, less", "identity;q=0.1, *;q=0", "gzip|identity", "identity"},
		{"identity in capitals", "", "IDENTITY", "IDENTITY"},

		// RFC 9110 §8.4.1.
		{"old name in the header", "x-gzip", "gzip", "gzip"},
		{"old name offered", "gzip", "X-GZip", "X-GZip"},
		{"old name of compress", "X-COMPRESS;q=0, *", "compress", ""},
		{"other old names are names", "x-br", "br", ""},
	})
}

func TestLanguage(t *testing.T) {
	testRows(t, Languages, []row{
		{"no header", "", "en|fr", "en"},
		{"begins with the range", "en", "en-US", "en-US"},
		{"case", "EN", "en-us", "en-us"},
		{"any", "*", "tlh", "tlh"},
		{"shorter than the range", "en-US", "en", ""},
		{"underscore in the tag", "en", "en_US", ""},
		{"underscore in the range", "en_US", "en-US", ""},
		{"star in the range", "en-*", "en-US", ""},
		{"no boundary", "en", "eng", ""},
		{"weights", "fr-CA;q=0.8, en-US", "en-US|fr-CA", "en-US"},
		{"any but", "*, en;q=0", "en", ""},
		{"any but, another", "*, en;q=0", "en|fr", "fr"},
		{"refused below a range", "en, en-US;q=0", "en-US", ""},
		{"refused below a range, another", "en, en-US;q=0", "en-US|en-GB", "en-GB"},
		{"accepted below a refusal", "en-US, en;q=0", "en-US", "en-US"},
		{"blank before the comma", "en;q=0 , fr", "en", ""},
		{"what browsers send", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr", "fr"},
		{"what browsers send, others", "fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "de|tlh|en-GB", "en-GB"},
		{"any is the rest", "en;q=0.5, *;q=0.8", "en|fr", "fr"},
		{"the client's order, not length", "fr, en-US", "en-US|fr", "fr"},
	})
}

func TestLanguageExtended(t *testing.T) {
	rows := []row{
		{"no header", "", "en|fr", "en"},
		{"empty tag", "en", "", ""},
		{"refused below a range", "en, en-US;q=0", "en-US", ""},
		{"more subtags are more specific", "de;q=0.5, de-*-DE", "de-AT|de-Latn-DE", "de-Latn-DE"},
	}
	for _, tc := range []struct {
		langRange string
		yes, no   string
	}{
		{"en", "en-US en-Latn-US en EN-us", "fr eng"},
		{"en-*", "en-US en en-US-CA", "fr"},
		{"*-US", "en-US en-Latn-US", "en-GB"},
		{"en-US-*", "en-US en-US-CA", "en"},
		{"*-CH", "de-CH de-Latn-CH", "de CH"},
		{"*", "en tlh", ""},
		{"de-*-DE", "de-DE de-DE-x-goethe de-Latn-DE-1996 de-de", "de de-x-DE de-Deva"},
		{"de-DE", "de-DE de-De de-DE-x-goethe de-Latn-DE de-Latf-DE de-DE-1996 de-Latn-DE-1996", "de de-x-DE de-Deva"},
		{"en-US", "en-US en-US--", "en-GB"},
		{"fr", "", "en-US"},
		{"de-1-DE", "", "de-DE de-a-DE"},
	} {
		for tag := range strings.FieldsSeq(tc.yes) {
			rows = append(rows, row{tc.langRange + " and " + tag, tc.langRange, tag, tag})
		}
		for tag := range strings.FieldsSeq(tc.no) {
			rows = append(rows, row{tc.langRange + " not " + tag, tc.langRange, tag, ""})
		}
	}
	testRows(t, LanguagesExtended, rows)
}

func TestLanguageLookup(t *testing.T) {
	testRows(t, LanguagesByLookup, []row{
		{"no header", "", "en|fr", "en"},
		{"equal", "en-US", "en|en-US", "en-US"},
		{"shortened", "de-CH", "en|de", "de"},
		{"shortened twice", "zh-Hant-CN", "zh", "zh"},
		{"not lengthened", "de", "de-CH", ""},
		{"no boundary", "deu", "de", ""},
		{"nothing", "de-CH", "en", ""},
		{"the first range with all it is shortened to", "fr-CH, de", "de|fr", "fr"},
		{"the longest", "zh-Hant-CN", "zh|zh-Hant", "zh-Hant"},
		{"weights", "fr;q=0.5, de-CH;q=0.9", "fr|de", "de"},
		{"as browsers list it", "en-US,en;q=0.8,fr;q=0.9", "fr|en", "en"},
		// RFC 4647 §3.4: zh-Hant-CN-x-private1-private2.
		{"with a singleton", "zh-Hant-CN-x-private1-private2", "zh-Hant-CN-x-private1", "zh-Hant-CN-x-private1"},
		{"a singleton goes too", "zh-Hant-CN-x-private1-private2", "zh-Hant-CN-x", ""},
		{"behind the singleton", "zh-Hant-CN-x-private1-private2", "zh-Hant-CN", "zh-Hant-CN"},
		{"nothing but a singleton", "i-klingon", "i", ""},
		{"any is what is left", "de, *;q=0.5", "en|de", "de"},
		{"any is the first", "de, *;q=0.5", "en|fr", "en"},
		{"any, however liked, comes last", "*, de;q=0.1", "en|de", "de"},
		{"any refused", "de, *;q=0", "en", ""},
		{"refused", "en-US, en;q=0", "en", ""},
		{"refused, any is another", "en;q=0, *", "en-GB|fr", "fr"},
		{"refused but for one", "en-US, en;q=0", "en|en-US", "en-US"},
		{"one refused, not what is shorter", "en-US;q=0, en-GB", "en-US|en", "en"},
	})
}

func TestAppendVary(t *testing.T) {
	for _, tc := range []struct{ had, add, want string }{
		{"", "Origin", "Origin"},
		{"Origin", "User-Agent", "Origin, User-Agent"},
		{"Origin, User-Agent", "Accept-Encoding Accept", "Origin, User-Agent, Accept-Encoding, Accept"},
		{"Accept", "accept", "Accept"},
		{"Accept,Origin", "Accept-Encoding", "Accept,Origin, Accept-Encoding"},
		{"Accept,Origin", "Origin", "Accept,Origin"},
		{"Accept", "Accept-Encoding Accept-Encoding", "Accept, Accept-Encoding"},
		{"Accept-Encoding", "Accept", "Accept-Encoding, Accept"},
		{"Accept", "*", "*"},
		{"*", "Accept", "*"},
		{"User-Agent, *", "Accept", "*"},
		{"", "", ""},
		{"  ", "Accept", "Accept"},
	} {
		if got := string(AppendVary([]byte("Vary: "), tc.had, strings.Fields(tc.add)...)); got != "Vary: "+tc.want {
			t.Errorf("%q and %q: %q", tc.had, tc.add, got)
		}
	}
	if got := AppendVary(nil, []byte("Accept"), "", "Origin"); string(got) != "Accept, Origin" {
		t.Errorf("with an empty name: %q", got)
	}
}

func TestTypeByExtension(t *testing.T) {
	for name, want := range map[string]string{
		"json": "application/json", ".json": "application/json", "JSON": "application/json", ".Html": "text/html",
		"text": "text/plain", "": "", ".": "", "nonsense": "", "Nonsense": "", "A-NAME-THAT-IS-LONGER-THAN-ANY": "",
	} {
		if got := TypeByExtension(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestOffersAreNotTheCallers(t *testing.T) {
	given := []string{"json", "html"}
	offers := NewOffers(MediaTypes, given...)
	given[0] = "text/plain"
	if got := offers.Choose("application/json"); got != "json" {
		t.Errorf("chose %q", got)
	}
	var none Offers
	if got := none.Choose("application/json"); got != "" {
		t.Errorf("of no offers %q was chosen", got)
	}
}

func TestNothingAllocates(t *testing.T) {
	var many []string
	for range 20 {
		many = append(many, "text/plain;a=1", "json", "nonsense", ".PNG")
	}
	header := []byte(`text/html;a="b\"c";q=0.5, application/*;q=0.9, image/png;q=1.000, *;q=0.1`)
	languages := []byte("fr-CH, fr;q=0.9, en;q=0.8, de-*-DE;q=0.7, *;q=0.5")
	prepared := NewOffers(MediaTypes, many...)
	value := make([]byte, 0, 64)
	for name, f := range map[string]func(){
		"media types":        func() { MediaType(header, many...) },
		"prepared":           func() { prepared.ChooseBytes(header) },
		"one media type":     func() { MediaType(header, ".html") },
		"parameters":         func() { MediaType(`text/plain;b="2";a=1;q=0.5`, "text/plain;a=1;b=2", "text/html;a=1") },
		"charsets":           func() { Charset("utf-8, *;q=0.5", "utf-8", "latin1") },
		"encodings":          func() { Encoding("gzip, br;q=0.5", "br", "identity") },
		"languages":          func() { Language(languages, "en", "fr", "de") },
		"languages extended": func() { LanguageExtended(languages, "en", "fr", "de-Latn-DE") },
		"languages lookup":   func() { LanguageLookup(languages, "en", "fr", "de") },
		"quality":            func() { Quality(MediaTypes, header, "json") },
		"vary":               func() { value = AppendVary(value[:0], "Origin", "Accept", "Accept-Encoding") },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Sixteen times the input takes about sixteen times as long. If the time were quadratic, it would take 256 times as long.
func TestHostileHeaders(t *testing.T) {
	const size, times, slack = 2 << 10, 16, 3
	offers := []string{"text/html;a=1;b=2", "json", "*/*", "text/*", "en-US", "gzip", "identity"}
	for _, unit := range []string{
		"text/html;q=0.1,", "*/*,", "a", ",", ";", "=", " ", "\t", `"`, `\`, `\"`, `";`, `",`, `a;"`, `a;",`, `a;b="c\",",`, `a;"",`,
		"text/html;a=", "text/html;a=1;", ";a=1", `;a="\1"`, ";b=2;a=1", ";x", "q=", ";q", "-", "a-", "*-", "en-US-", "x-gzip,", "identity;q=0,",
	} {
		for _, start := range []string{"", "text/html;", "text/html", `text/html;a="`, "en-", "*;", ";a"} {
			header := func(size int) string {
				first := start
				if start == ";a" {
					first = strings.Repeat(start, size/4)
				}
				return first + strings.Repeat(unit, size/len(unit))
			}
			small, large := header(size), header(times*size)
			for kind := MediaTypes; kind <= LanguagesByLookup; kind++ {
				short, long := time.Hour, time.Hour
				for try := 0; try == 0 || try < 20 && long > slack*times*short; try++ { // something else may use the processor
					short, long = min(short, timeToChoose(kind, small, offers)), min(long, timeToChoose(kind, large, offers))
				}
				if long > slack*times*short {
					t.Fatalf("kind %d, %q and then many %q: %d bytes take %v, %d bytes %v", kind, start, unit, len(small), short, len(large), long)
				}
			}
		}
	}
}

func timeToChoose(kind Kind, header string, offers []string) time.Duration {
	begun := time.Now()
	choose(kind, header, offers)
	return max(time.Since(begun), 100) // a clock may be coarse
}
