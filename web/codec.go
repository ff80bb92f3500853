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
	others    map[string]codec.Codec // by media type; nil if there are none
	names     []string               // of the others, in order
}

// newCodecs returns the codecs of Config.Codecs and those that every App has. It panics if two have the same media type or one
// has none.
func newCodecs(list []codec.Codec) (s codecs) {
	s.others = map[string]codec.Codec{}
	for i, one := range list {
		if one == nil {
			panic(fmt.Sprintf("web: codec %d is nil", i))
		}
		name, _, err := mime.ParseMediaType(one.ContentType())
		if err != nil || !strings.Contains(name, "/") {
			panic(fmt.Sprintf("web: codec %d has the content type %q, which is no media type", i, one.ContentType()))
		}
		if first := s.others[name]; first != nil {
			panic(fmt.Sprintf("web: codecs %T and %T are both for %s", first, one, name))
		}
		s.others[name] = one
	}
	s.json = s.take(typeJSON, codec.JSON{})
	s.xml = s.take(typeXML, codec.XML{})
	s.names = slices.Sorted(maps.Keys(s.others))
	return s
}

// take takes the codec of a media type out of the others. If there is none it is otherwise.
func (s *codecs) take(mediaType string, otherwise codec.Codec) codec.Codec {
	if own := s.others[mediaType]; own != nil {
		delete(s.others, mediaType)
		return own
	}
	return otherwise
}

// find returns the codec of a media type, and what errors and tags call it; nil if there is none.
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

// unsupported is the error for a body of a type that nothing decodes. The answer says what
// would be (RFC 9110 §15.5.16).
func (c *Ctx) unsupported() error {
	c.SetHeader(gallop.HeaderAccept, c.app.accept)
	return NewError(gallop.StatusUnsupportedMediaType)
}
