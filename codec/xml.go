package codec

import (
	"encoding/xml"
	"io"
)

// XML is the [Codec] for XML. XML uses encoding/xml and implements [StreamDecoder].
type XML struct{}

var _ StreamDecoder = XML{}

// ContentType returns "application/xml; charset=utf-8". ContentType implements [Codec].
func (XML) ContentType() string { return "application/xml; charset=utf-8" }

// Encode writes an XML declaration and then v, in one call of Write. If encoding fails, Encode writes nothing.
// Encode implements [Codec].
func (XML) Encode(w io.Writer, v any) error {
	text, err := xml.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), text...))
	return err
}

// Decode decodes data into v, like xml.Unmarshal. Decode implements [Codec].
func (XML) Decode(data []byte, v any) error { return xml.Unmarshal(data, v) }

// DecodeFrom decodes the first element in r into v, like an xml.Decoder. DecodeFrom implements [StreamDecoder].
func (XML) DecodeFrom(r io.Reader, v any) error { return xml.NewDecoder(r).Decode(v) }
