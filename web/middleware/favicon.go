package middleware

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// Favicon responds to requests for /favicon.ico, which browsers send to every site. Register Favicon before Logger to keep these
// requests out of the log.
//
// The zero value responds with status 204, so that browsers stop asking.
type Favicon struct {
	// Data is the icon. If Data is empty, the site has no icon. Embed the icon with go:embed.
	Data []byte

	// ContentType is the media type of Data. By default, Favicon recognizes ICO, PNG, GIF and JPEG. Set "image/svg+xml" for SVG.
	ContentType string

	// Path is the path of the icon. The default is "/favicon.ico".
	Path string

	// CacheControl is the Cache-Control header. The default is "public, max-age=31536000", one year.
	CacheControl string
}

// Handler returns the middleware.
func (o Favicon) Handler() web.Handler {
	if o.Path == "" {
		o.Path = "/favicon.ico"
	}
	if o.CacheControl == "" {
		o.CacheControl = "public, max-age=31536000"
	}
	if o.ContentType == "" {
		o.ContentType = http.DetectContentType(o.Data)
	}
	sum := sha256.Sum256(o.Data)
	tag := base64.RawURLEncoding.EncodeToString(sum[:16])
	return func(c *web.Ctx) error {
		r := c.RequestCtx()
		if string(c.PathBytes()) != o.Path || !r.IsGet() && !r.IsHead() || c.Refused() != nil {
			return c.Next()
		}
		c.SetHeader(gallop.HeaderCacheControl, o.CacheControl)
		if len(o.Data) == 0 {
			return c.SendStatus(gallop.StatusNoContent)
		}
		if c.ETag(tag); c.Fresh() {
			return c.NotModified()
		}
		c.SetHeader(gallop.HeaderContentType, o.ContentType).SetHeader(gallop.HeaderXContentTypeOptions, "nosniff")
		return c.Send(o.Data)
	}
}
