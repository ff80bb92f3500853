package codec_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gallop-http/gallop/codec"
)

func ExampleJSON() {
	if err := (codec.JSON{}).Encode(os.Stdout, map[string]string{"tag": "<b>"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println()
	if err := (codec.JSON{KeepHTML: true}).Encode(os.Stdout, map[string]string{"tag": "<b>"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println()

	var n int
	fmt.Println(codec.JSON{}.Decode([]byte(`1 2`), &n))
	fmt.Println(codec.JSON{IgnoreTrailing: true}.Decode([]byte(`1 2`), &n), n)
	// Output:
	// {"tag":"\u003cb\u003e"}
	// {"tag":"<b>"}
	// invalid character '2' after top-level value
	// <nil> 1
}

func ExampleJSON_DecodeFrom() {
	var list []struct{ Name string }
	err := codec.JSON{}.DecodeFrom(strings.NewReader(`[{"name":"Rob"},{"name":7}]`), &list)
	fmt.Println(err)
	// Output:
	// codec: at "[1].Name", offset 25: json: cannot unmarshal number into Go struct field .Name of type string
}

// base64Text is a format with one kind of value, a string.
type base64Text struct{}

func (base64Text) ContentType() string { return "text/x-base64" }

func (base64Text) Encode(w io.Writer, v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a %T is not a string", v)
	}
	_, err := io.WriteString(w, base64.StdEncoding.EncodeToString([]byte(text)))
	return err
}

func (base64Text) Decode(data []byte, v any) error {
	to, ok := v.(*string)
	if !ok {
		return fmt.Errorf("a %T is not a *string", v)
	}
	text, err := base64.StdEncoding.DecodeString(string(data))
	*to = string(text)
	return err
}

func ExampleCodec() {
	var c codec.Codec = base64Text{}
	var b strings.Builder
	if err := c.Encode(&b, "gopher"); err != nil {
		fmt.Println(err)
	}
	var got string
	err := c.Decode([]byte(b.String()), &got)
	fmt.Println(b.String(), got, err)
	// Output: Z29waGVy gopher <nil>
}
