package files

import (
	"io"
	"mime/multipart"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMultipart(t *testing.T) {
	m := NewMultipart(strings.NewReader("0123456789"), []byte("text/plain"), []Span{{8, 2}, {0, 1}}, 10)
	body, err := io.ReadAll(iotest.OneByteReader(m))
	if err != nil || int64(len(body)) != m.Size {
		t.Fatalf("%d bytes, want %d, %v", len(body), m.Size, err)
	}
	parts := multipart.NewReader(strings.NewReader(string(body)), m.Boundary)
	for _, want := range []struct{ span, content string }{{"bytes 8-9/10", "89"}, {"bytes 0-0/10", "0"}} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil || string(content) != want.content || part.Header.Get("Content-Range") != want.span || part.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%q, %v, %v; want %q of %s", content, part.Header, err, want.content, want.span)
		}
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		t.Errorf("behind the last part: %v", err)
	}
	bare, err := io.ReadAll(NewMultipart(strings.NewReader("ab"), nil, []Span{{0, 1}, {1, 1}}, 2))
	if err != nil || strings.Contains(string(bare), "Content-Type") {
		t.Errorf("of a content without a type: %q, %v", bare, err)
	}
}

func TestSection(t *testing.T) {
	content := strings.NewReader("0123456789")
	for _, tc := range []struct {
		span Span
		want string
		err  error
	}{
		{Span{3, 4}, "3456", nil},
		{Span{0, 10}, "0123456789", nil},
		{Span{9, 1}, "9", nil},
		{Span{8, 5}, "89", io.ErrUnexpectedEOF},
	} {
		if got, err := io.ReadAll(NewSection(content, tc.span)); string(got) != tc.want || err != tc.err {
			t.Errorf("%v: %q, %v", tc.span, got, err)
		}
	}
	if _, err := NewSection(content, Span{-1, 5}).Read(make([]byte, 1)); err == nil {
		t.Error("the content cannot seek there, but there is no error")
	}
}
