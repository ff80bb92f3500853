package hpack

import "github.com/gallop-http/gallop/internal/field"

// policy says how the encoder represents a field that is in no table.
type policy uint8

const (
	// plain: send a literal and do not store it. That suits values that change with each message, and unknown names. The
	// literal is not Huffman-coded, which saves more time than the bytes are worth.
	plain policy = iota

	// store: send a Huffman-coded literal and store it in the table, because the next messages probably repeat it.
	store

	// never: send a literal that no proxy may store either (RFC 7541 §7.1.3), so that nobody can guess the value by
	// watching sizes.
	never
)

// shortCookie is the length below which a Cookie is never stored. A short secret can be guessed (RFC 7541 §7.1.3).
const shortCookie = 20

// policies has the policy of each known name. Names that are not in it are plain, such as Content-Length, ETag and
// Location. Set-Cookie is never stored, because a value is sent once, and often is a secret.
var policies = [256]policy{
	field.Authorization: never, field.ProxyAuthorization: never, field.SetCookie: never,

	field.ContentType: store, field.Server: store, field.Date: store, field.CacheControl: store, field.Vary: store,
	field.ContentEncoding: store, field.ContentLanguage: store, field.AcceptRanges: store, field.Link: store, field.AltSvc: store,
	field.AccessControlAllowOrigin: store, field.AccessControlAllowMethods: store, field.AccessControlAllowHeaders: store,
	field.AccessControlAllowCredentials: store, field.AccessControlExposeHeaders: store, field.AccessControlMaxAge: store,
	field.StrictTransportSecurity: store, field.ContentSecurityPolicy: store, field.XContentTypeOptions: store, field.XFrameOptions: store,

	field.UserAgent: store, field.Accept: store, field.AcceptEncoding: store, field.AcceptLanguage: store, field.AcceptCharset: store,
	field.Cookie: store, field.Origin: store, field.Pragma: store, field.TE: store, field.DNT: store, field.XRequestedWith: store,
	field.UpgradeInsecureRequests: store, field.SecCHUA: store, field.SecCHUAMobile: store, field.SecCHUAPlatform: store,
	field.SecFetchSite: store, field.SecFetchMode: store, field.SecFetchDest: store, field.SecFetchUser: store,
}

// longLink is the length from which on a Link is not stored. Long ones list the resources of one page.
const longLink = 256

// policyOf returns the policy of a regular field with a value of n bytes.
func policyOf(id field.ID, n int) policy {
	switch {
	case id == field.Cookie && n < shortCookie:
		return never
	case id == field.Link && n >= longLink:
		return plain
	}
	return policies[id]
}

// worth reports whether an entry leaves at least half of the table to other entries. Larger ones are not stored.
func (e *Encoder) worth(nameLen, n int) bool { return 2*(nameLen+n+FieldOverhead) <= int(e.table.max) }
