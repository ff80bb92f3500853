package web

import (
	"fmt"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// codecs are the formats that an App encodes and decodes.
type codecs struct {
	json, xml codec.Codec
	others    map[string]codec.Codec // by media type
	names     []string               // the keys of others, sorted
}

// newCodecs returns the codecs of Config.Codecs, JSON and XML. It panics if two codecs have the same media type or one has none.
func newCodecs(list []codec.Codec) (s codecs) {
	s.others = map[string]codec.Codec{}
	for i, one := range list {
		if one == nil {
			panic(fmt.Sprintf("web: Config.Codecs: codec %d is nil: pass a codec, or leave the element out", i))
		}
		name, _, err := mime.ParseMediaType(one.ContentType())
		if err != nil || !strings.Contains(name, "/") {
			panic(fmt.Sprintf("web: Config.Codecs: codec %d (%T) has the content type %q, which is not a media type such as application/cbor", i, one, one.ContentType()))
		}
		if first := s.others[name]; first != nil {
			panic(fmt.Sprintf("web: Config.Codecs: %T and %T are both for %s: remove one", first, one, name))
		}
		s.others[name] = one
	}
	s.json = s.take(typeJSON, codec.JSON{})
	s.xml = s.take(typeXML, codec.XML{})
	s.names = slices.Sorted(maps.Keys(s.others))
	return s
}

// take removes the codec of a media type from others and returns it. If there is none, it returns otherwise.
func (s *codecs) take(mediaType string, otherwise codec.Codec) codec.Codec {
	if own := s.others[mediaType]; own != nil {
		delete(s.others, mediaType)
		return own
	}
	return otherwise
}

// find returns the codec of a media type and its name in errors and tags. The codec is nil if there is none.
func (s *codecs) find(mediaType string) (codec codec.Codec, source Source) {
	if codec := s.others[mediaType]; codec != nil {
		return codec, Source(mediaType)
	}
	switch {
	case mediaType == typeJSON || strings.HasSuffix(mediaType, "+json"):
		return s.json, SourceJSON
	case mediaType == typeXML || mediaType == "text/xml" || strings.HasSuffix(mediaType, "+xml"):
		return s.xml, SourceXML
	}
	return nil, ""
}

// unsupported returns the error for a body of a type that no codec decodes. It lists the supported types in the Accept header of the
// response (RFC 9110 §15.5.16).
func (c *Ctx) unsupported() error {
	c.SetHeader(gallop.HeaderAccept, c.app.accept)
	return NewError(gallop.StatusUnsupportedMediaType)
}
