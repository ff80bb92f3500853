package field

import (
	"encoding/binary"
	"math/bits"

	"github.com/gallop-http/gallop/internal/ascii"
)

// ID identifies a known field name. Unknown is the ID of all other names.
type ID uint8

// The known names. Names that decide something in the server or the client come first. The remaining names are known
// because they are common.
const (
	Unknown ID = iota
	Host
	ContentLength
	TransferEncoding
	Connection
	ContentType
	Expect
	Upgrade
	Trailer
	TE
	ContentEncoding
	Cookie
	SetCookie
	UserAgent
	Referer
	Accept
	AcceptEncoding
	AcceptLanguage
	AcceptCharset
	Authorization
	Date
	Server
	Location
	KeepAlive
	Range
	IfRange
	IfMatch
	IfNoneMatch
	IfModifiedSince
	IfUnmodifiedSince
	ETag
	LastModified
	CacheControl
	Expires
	Age
	Vary
	Allow
	AcceptRanges
	ContentRange
	ContentLanguage
	ContentLocation
	ContentDisposition
	Origin
	Pragma
	Via
	Warning
	Forwarded
	XForwardedFor
	XForwardedHost
	XForwardedProto
	XRealIP
	XRequestID
	RetryAfter
	Link
	WWWAuthenticate
	ProxyAuthenticate
	ProxyAuthorization
	ProxyConnection
	StrictTransportSecurity
	ContentSecurityPolicy
	XContentTypeOptions
	XFrameOptions
	AccessControlAllowOrigin
	AccessControlAllowMethods
	AccessControlAllowHeaders
	AccessControlAllowCredentials
	AccessControlExposeHeaders
	AccessControlMaxAge
	AccessControlRequestMethod
	AccessControlRequestHeaders
	UpgradeInsecureRequests
	SecFetchSite
	SecFetchMode
	SecFetchUser
	SecFetchDest
	SecCHUA
	SecCHUAMobile
	SecCHUAPlatform
	SecWebSocketKey
	SecWebSocketAccept
	SecWebSocketVersion
	SecWebSocketProtocol
	SecWebSocketExtensions
	DNT
	Priority
	AltSvc
	XRequestedWith
	Traceparent
	Tracestate
	IdempotencyKey
	HTTP2Settings
	numIDs
)

var names = [numIDs]string{
	Host:                          "Host",
	ContentLength:                 "Content-Length",
	TransferEncoding:              "Transfer-Encoding",
	Connection:                    "Connection",
	ContentType:                   "Content-Type",
	Expect:                        "Expect",
	Upgrade:                       "Upgrade",
	Trailer:                       "Trailer",
	TE:                            "TE",
	ContentEncoding:               "Content-Encoding",
	Cookie:                        "Cookie",
	SetCookie:                     "Set-Cookie",
	UserAgent:                     "User-Agent",
	Referer:                       "Referer",
	Accept:                        "Accept",
	AcceptEncoding:                "Accept-Encoding",
	AcceptLanguage:                "Accept-Language",
	AcceptCharset:                 "Accept-Charset",
	Authorization:                 "Authorization",
	Date:                          "Date",
	Server:                        "Server",
	Location:                      "Location",
	KeepAlive:                     "Keep-Alive",
	Range:                         "Range",
	IfRange:                       "If-Range",
	IfMatch:                       "If-Match",
	IfNoneMatch:                   "If-None-Match",
	IfModifiedSince:               "If-Modified-Since",
	IfUnmodifiedSince:             "If-Unmodified-Since",
	ETag:                          "ETag",
	LastModified:                  "Last-Modified",
	CacheControl:                  "Cache-Control",
	Expires:                       "Expires",
	Age:                           "Age",
	Vary:                          "Vary",
	Allow:                         "Allow",
	AcceptRanges:                  "Accept-Ranges",
	ContentRange:                  "Content-Range",
	ContentLanguage:               "Content-Language",
	ContentLocation:               "Content-Location",
	ContentDisposition:            "Content-Disposition",
	Origin:                        "Origin",
	Pragma:                        "Pragma",
	Via:                           "Via",
	Warning:                       "Warning",
	Forwarded:                     "Forwarded",
	XForwardedFor:                 "X-Forwarded-For",
	XForwardedHost:                "X-Forwarded-Host",
	XForwardedProto:               "X-Forwarded-Proto",
	XRealIP:                       "X-Real-IP",
	XRequestID:                    "X-Request-ID",
	RetryAfter:                    "Retry-After",
	Link:                          "Link",
	WWWAuthenticate:               "WWW-Authenticate",
	ProxyAuthenticate:             "Proxy-Authenticate",
	ProxyAuthorization:            "Proxy-Authorization",
	ProxyConnection:               "Proxy-Connection",
	StrictTransportSecurity:       "Strict-Transport-Security",
	ContentSecurityPolicy:         "Content-Security-Policy",
	XContentTypeOptions:           "X-Content-Type-Options",
	XFrameOptions:                 "X-Frame-Options",
	AccessControlAllowOrigin:      "Access-Control-Allow-Origin",
	AccessControlAllowMethods:     "Access-Control-Allow-Methods",
	AccessControlAllowHeaders:     "Access-Control-Allow-Headers",
	AccessControlAllowCredentials: "Access-Control-Allow-Credentials",
	AccessControlExposeHeaders:    "Access-Control-Expose-Headers",
	AccessControlMaxAge:           "Access-Control-Max-Age",
	AccessControlRequestMethod:    "Access-Control-Request-Method",
	AccessControlRequestHeaders:   "Access-Control-Request-Headers",
	UpgradeInsecureRequests:       "Upgrade-Insecure-Requests",
	SecFetchSite:                  "Sec-Fetch-Site",
	SecFetchMode:                  "Sec-Fetch-Mode",
	SecFetchUser:                  "Sec-Fetch-User",
	SecFetchDest:                  "Sec-Fetch-Dest",
	SecCHUA:                       "Sec-CH-UA",
	SecCHUAMobile:                 "Sec-CH-UA-Mobile",
	SecCHUAPlatform:               "Sec-CH-UA-Platform",
	SecWebSocketKey:               "Sec-WebSocket-Key",
	SecWebSocketAccept:            "Sec-WebSocket-Accept",
	SecWebSocketVersion:           "Sec-WebSocket-Version",
	SecWebSocketProtocol:          "Sec-WebSocket-Protocol",
	SecWebSocketExtensions:        "Sec-WebSocket-Extensions",
	DNT:                           "DNT",
	Priority:                      "Priority",
	AltSvc:                        "Alt-Svc",
	XRequestedWith:                "X-Requested-With",
	Traceparent:                   "traceparent",
	Tracestate:                    "tracestate",
	IdempotencyKey:                "Idempotency-Key",
	HTTP2Settings:                 "HTTP2-Settings",
}

// String returns the name in its usual spelling, or "" for Unknown.
func (id ID) String() string { return names[id] }

// Canonical returns the name as net/textproto spells it: a capital at the start and after each dash, lower case
// elsewhere. That can differ from the usual spelling, as in "Etag". It returns nil for Unknown. The bytes must not be
// changed.
func (id ID) Canonical() []byte { return canonical[id] }

var canonical = buildCanonical()

func buildCanonical() (t [numIDs][]byte) {
	for id := Unknown + 1; id < numIDs; id++ {
		name := []byte(names[id])
		for i, c := range name {
			name[i] = ascii.Lower(c)
			if first := i == 0 || name[i-1] == '-'; first && name[i]-'a' <= 'z'-'a' {
				name[i] -= 'a' - 'A'
			}
		}
		t[id] = name[:len(name):len(name)]
	}
	return t
}

// Lower returns the name in lower case, as HTTP/2 sends it (RFC 9113 §8.2). It returns "" for Unknown.
func (id ID) Lower() string { return lower[id] }

var lower = buildLower()

func buildLower() (t [numIDs]string) {
	for id := Unknown + 1; id < numIDs; id++ {
		t[id] = string(ascii.ToLower([]byte(names[id])))
	}
	return t
}

// The table of known names is a perfect hash. No two names have the same slot, which a test verifies, so a single
// comparison decides.
const slots = 512

var table = buildTable()

func buildTable() (t [slots]ID) {
	for id := Unknown + 1; id < numIDs; id++ {
		first, last := ends(names[id])
		t[hash(first, last, len(names[id]))] = id
	}
	return t
}

// hash uses the length, the first eight bytes and the last eight bytes, with case folded.
func hash(first, last uint64, n int) uint64 {
	const fold = 0x2020202020202020
	return ((first | fold) ^ bits.RotateLeft64(last|fold, 29) ^ uint64(n)) * 0x4bb1d644c8b1dd01 >> (64 - 9)
}

// ends returns the first eight bytes of s and the last eight. If s is shorter, it returns s twice, padded with zeros.
func ends[S ascii.Text](s S) (first, last uint64) {
	if n := len(s); n >= 8 {
		return word(s[:8]), word(s[n-8:])
	}
	first = short(s)
	return first, first
}

// short returns s, which has less than eight bytes, padded with zeros.
func short[S ascii.Text](s S) uint64 {
	n := len(s)
	switch {
	case n >= 4: // the two halves overlap in equal bytes
		return half(s[:4]) | half(s[n-4:])<<(8*(n-4))
	case n >= 2:
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[n-1])<<(8*(n-1))
	case n == 1:
		return uint64(s[0])
	}
	return 0
}

func half[S ascii.Text](s S) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

func word[S ascii.Text](s S) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Lookup returns the ID of name, regardless of case.
func Lookup[S ascii.Text](name S) ID {
	n := len(name)
	if n < 2 || n > maxKnown {
		return Unknown
	}
	var first, last uint64
	if n >= 8 {
		first, last = word(name[:8]), word(name[n-8:])
	} else {
		first = short(name)
		last = first
	}
	id := table[hash(first, last, n)]
	if known := names[id]; n == len(known) && (edges[id] == edge{first, last} &&
		(n <= 16 || string(name[8:n-8]) == known[8:n-8]) || ascii.EqualFold(name, known)) {
		return id
	}
	return Unknown
}

// edges are the ends of the known names, which are the whole name if it has up to 16 bytes.
var edges = buildEdges()

type edge struct{ first, last uint64 }

func buildEdges() (t [numIDs]edge) {
	for id, name := range names {
		t[id].first, t[id].last = ends(name)
	}
	return t
}

// LookupHead finds the field name at the start of b, which ends before a colon. It returns the name's ID, regardless
// of case, and its length. If the name is not a known one, the ID is Unknown and the length has no meaning. Known
// names are valid tokens.
//
// LookupHead is for parsers. It works on words instead of bytes, and also looks at bytes after the name, if there are
// any.
func LookupHead(b []byte) (ID, int) {
	if len(b) < headWindow {
		var padded [headWindow]byte
		copy(padded[:], b)
		return lookupHead(padded[:])
	}
	return lookupHead(b)
}

// headWindow is the number of bytes of b that lookupHead may look at.
const headWindow = maxKnown + 8

func lookupHead(b []byte) (ID, int) {
	b = b[:headWindow]
	first := binary.LittleEndian.Uint64(b)
	last, n := first, 0
	if m := colons(first); m != 0 {
		n = bits.TrailingZeros64(m) >> 3
		first &= 1<<(8*n) - 1
		last = first
	} else {
		for n = 8; ; n += 8 {
			if m := colons(ascii.Word(b, n)); m != 0 {
				n += bits.TrailingZeros64(m) >> 3
				break
			}
			if n == maxKnown {
				return Unknown, 0
			}
		}
		last = ascii.Word(b, n-8)
	}
	id := table[hash(first, last, n)]
	p := &patterns[id]
	odd := p.differ(b, 0, 0) | p.differ(b, 0, 1)
	if n > 16 {
		odd |= p.differ(b, 0, 2) | p.differ(b, 0, 3)
	}
	if odd != 0 || n != len(names[id]) {
		return Unknown, 0
	}
	return id, n
}

// colons marks the first colon in w with the high bit of its byte. Bytes after it may be marked as well.
func colons(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w ^= ones * ':'
	return (w - ones) &^ w & highs
}

// maxKnown is the maximum length of a known name, and of a pattern.
const maxKnown = 32

// pattern is a known name with a colon, for comparison with bytes: words, and for each word the bits that count. The
// case of letters and everything after the colon do not count.
type pattern struct {
	text, care [maxKnown/8 + 1]uint64
	length     uint8 // of the name
	words      uint8 // number of words that name and colon take
}

// differ returns the bits in which b[i:] differs from the given word of the pattern.
func (p *pattern) differ(b []byte, i, word int) uint64 {
	return (ascii.Word(b, i+8*word) ^ p.text[word]) & p.care[word]
}

var patterns = buildPatterns()

func buildPatterns() (t [numIDs]pattern) {
	for id, name := range names {
		var text, care [maxKnown + 8]byte
		copy(text[:], name+":")
		for i, c := range text[:len(name)+1] {
			care[i] = 0xff
			if ascii.Lower(c) >= 'a' && ascii.Lower(c) <= 'z' {
				care[i] = 0xff - 0x20
			}
		}
		t[id].length, t[id].words = uint8(len(name)), uint8(len(name)/8+1)
		for i := range t[id].text {
			t[id].text[i] = binary.LittleEndian.Uint64(text[8*i:])
			t[id].care[i] = binary.LittleEndian.Uint64(care[8*i:])
		}
	}
	return t
}
