package negotiate_test

import (
	"fmt"

	"github.com/gallop-http/gallop/negotiate"
)

// Offers are values: parse them once, and choose for each request.
func ExampleOffers_Choose() {
	fmt.Println(negotiate.NewOffers(negotiate.MediaTypes, "json", "html").Choose("text/html, */*;q=0.1"))
	// Output: html
}

// Choose is for code that learns at runtime what is negotiated.
func ExampleChoose() {
	for _, row := range []struct {
		kind   negotiate.Kind
		header string
		offers []string
	}{
		{negotiate.Languages, "de, en;q=0.5", []string{"en", "de"}},
		{negotiate.Encodings, "br;q=0.9, gzip", []string{"br", "gzip"}},
	} {
		fmt.Println(negotiate.Choose(row.kind, row.header, row.offers...))
	}
	// Output:
	// de
	// gzip
}
