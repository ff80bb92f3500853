package web

import (
	"encoding/json"
	"encoding/xml"
	"strings"

	"github.com/gallop-http/gallop"
)

// Codec encodes and decodes a format. Its methods may be called by any number of goroutines
// at once, and may not keep the bytes; those that Marshal returns are the caller's.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// stdJSON is encoding/json.
type stdJSON struct{}

func (stdJSON) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (stdJSON) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// xmlCodec is encoding/xml, with a declaration.
type xmlCodec struct{}

func (xmlCodec) Marshal(v any) ([]byte, error) {
	body, err := xml.Marshal(v)
	return append([]byte(xml.Header), body...), err
}

func (xmlCodec) Unmarshal(data []byte, v any) error { return xml.Unmarshal(data, v) }

// codec returns what decodes a media type, and what errors and tags call it; nil if nothing does.
func (c *Ctx) codec(mediaType string) (codec Codec, source Source) {
	if codec := c.app.config.Codecs[mediaType]; codec != nil {
		return codec, Source(mediaType)
	}
	switch {
	case mediaType == typeJSON || strings.HasSuffix(mediaType, "+json"):
		return c.app.config.JSON, SourceJSON
	case mediaType == "application/xml" || mediaType == "text/xml" || strings.HasSuffix(mediaType, "+xml"):
		return xmlCodec{}, SourceXML
	}
	return nil, ""
}

// unsupported is the error for a body of a type that nothing decodes. The answer says what
// would be (RFC 9110 §15.5.16).
func (c *Ctx) unsupported() error {
	c.SetHeader(gallop.HeaderAccept, c.app.accept)
	return NewError(gallop.StatusUnsupportedMediaType)
}
