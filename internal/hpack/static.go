package hpack

import "github.com/gallop-http/gallop/internal/field"

// staticEntry is an entry of the static table (RFC 7541 appendix A).
type staticEntry struct {
	name, value string
	text        string // what the decoder appends: the name, unless it is one of a pseudo-field, and the value
	shown       int    // length of the name in text
	id          field.ID
	pseudo      Pseudo
}

// lastStatic is the index of the last entry of the static table. The dynamic table follows it (RFC 7541 §2.3.3).
const lastStatic = 61

// statics is the static table by index. Index 0 is not used.
var statics = buildStatics([...]string{
	":authority", "",
	":method", "GET",
	":method", "POST",
	":path", "/",
	":path", "/index.html",
	":scheme", "http",
	":scheme", "https",
	":status", "200",
	":status", "204",
	":status", "206",
	":status", "304",
	":status", "400",
	":status", "404",
	":status", "500",
	"accept-charset", "",
	"accept-encoding", "gzip, deflate",
	"accept-language", "",
	"accept-ranges", "",
	"accept", "",
	"access-control-allow-origin", "",
	"age", "",
	"allow", "",
	"authorization", "",
	"cache-control", "",
	"content-disposition", "",
	"content-encoding", "",
	"content-language", "",
	"content-length", "",
	"content-location", "",
	"content-range", "",
	"content-type", "",
	"cookie", "",
	"date", "",
	"etag", "",
	"expect", "",
	"expires", "",
	"from", "",
	"host", "",
	"if-match", "",
	"if-modified-since", "",
	"if-none-match", "",
	"if-range", "",
	"if-unmodified-since", "",
	"last-modified", "",
	"link", "",
	"location", "",
	"max-forwards", "",
	"proxy-authenticate", "",
	"proxy-authorization", "",
	"range", "",
	"referer", "",
	"refresh", "",
	"retry-after", "",
	"server", "",
	"set-cookie", "",
	"strict-transport-security", "",
	"transfer-encoding", "",
	"user-agent", "",
	"vary", "",
	"via", "",
	"www-authenticate", "",
})

func buildStatics(text [2 * lastStatic]string) (t [lastStatic + 1]staticEntry) {
	for i := 1; i <= lastStatic; i++ {
		e := staticEntry{name: text[2*i-2], value: text[2*i-1]}
		e.id, e.pseudo, e.text = field.Lookup(e.name), pseudoOf([]byte(e.name)), e.value
		if e.pseudo == Regular {
			e.text, e.shown = e.name+e.value, len(e.name)
		}
		t[i] = e
	}
	return t
}

// Indexes of the first entry with a name, or 0: by ID, and by Pseudo.
var (
	staticByID     = buildStaticByID()
	staticByPseudo = [UnknownPseudo + 1]uint8{Authority: 1, Method: 2, Path: 4, Scheme: 6, Status: 8}
)

func buildStaticByID() (t [256]uint8) {
	for i := lastStatic; i > 0; i-- {
		t[statics[i].id] = uint8(i)
	}
	t[field.Unknown] = 0
	return t
}

// staticAcceptEncoding is the only entry with a value that is no pseudo-field.
const staticAcceptEncoding = 16
