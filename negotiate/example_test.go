package negotiate_test

import (
	"fmt"

	"github.com/gallop-http/gallop/negotiate"
)

func ExampleMediaType() {
	const accept = "text/html;q=0.5, */*;q=0.8"
	fmt.Println(negotiate.MediaType(accept, "html", "json"))
	fmt.Println(negotiate.Quality(negotiate.MediaTypes, accept, "html"))
	// Output:
	// json
	// 500
}

func ExampleOffers() {
	representations := negotiate.NewOffers(negotiate.MediaTypes, "application/json", "text/csv;header=present")
	fmt.Println(representations.Choose("text/csv"))
	fmt.Println(representations.Choose("text/csv;header=absent") == "")
	// Output:
	// text/csv;header=present
	// true
}

func ExampleLanguageLookup() {
	fmt.Println(negotiate.LanguageLookup("de-CH, fr;q=0.9", "en", "fr", "de"))
	// Output: de
}

func ExampleAppendVary() {
	fmt.Printf("%s\n", negotiate.AppendVary(nil, "Accept, Origin", "accept", "Accept-Encoding"))
	// Output: Accept, Origin, Accept-Encoding
}
