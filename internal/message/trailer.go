package message

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
)

// ForbiddenTrailer reports whether a field must not be sent in a trailer section. These are fields for framing,
// routing, modifying the message, authentication, controlling a response or describing the body (RFC 9110 §6.5.1). id
// is the ID of name.
func ForbiddenTrailer(id field.ID, name []byte) bool {
	switch id {
	case field.Unknown:
		return ascii.HasPrefixFold(name, "X-Forwarded-") || ascii.EqualFold(name, "Max-Forwards")
	case field.Host, field.ContentLength, field.TransferEncoding, field.Connection, field.KeepAlive,
		field.ProxyConnection, field.Upgrade, field.Trailer, field.TE, field.Expect, field.HTTP2Settings,
		field.ContentType, field.ContentEncoding, field.ContentRange, field.ContentLocation,
		field.ContentLanguage, field.ContentDisposition,
		field.Cookie, field.SetCookie, field.Authorization, field.ProxyAuthorization,
		field.WWWAuthenticate, field.ProxyAuthenticate,
		field.Location, field.Date, field.Age, field.Expires, field.CacheControl, field.Pragma, field.Vary,
		field.Warning, field.RetryAfter, field.Range, field.IfRange, field.IfMatch, field.IfNoneMatch,
		field.IfModifiedSince, field.IfUnmodifiedSince, field.Forwarded, field.XForwardedFor,
		field.XForwardedHost, field.XForwardedProto, field.XRealIP, field.Via, field.Origin,
		field.Referer, field.UserAgent:
		return true
	}
	return false
}
