package fasthttp

import (
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/api"
)

// otherwise lists declarations that differ from fasthttp's. The comments say why programs compile anyway.
var otherwise = map[string]string{
	// LIFO is the default here, so its value is 0.
	"const fasthttp.FIFO fasthttp.ConnPoolStrategyType = 0": "const fasthttp.FIFO fasthttp.ConnPoolStrategyType = 1",
	"const fasthttp.LIFO fasthttp.ConnPoolStrategyType = 1": "const fasthttp.LIFO fasthttp.ConnPoolStrategyType = 0",

	// These types of fasthttp are not exported, so no program can name them. The usual code with their values still
	// compiles.
	"method (*fasthttp.HostClient) AcquireConn(time.Duration, bool) (*fasthttp.clientConn, error)": "method (*fasthttp.HostClient) AcquireConn(time.Duration, bool) (*github.com/gallop-http/gallop.ClientConn, error)",
	"method (*fasthttp.HostClient) CloseConn(*fasthttp.clientConn)":                                "method (*fasthttp.HostClient) CloseConn(*github.com/gallop-http/gallop.ClientConn)",
	"method (*fasthttp.HostClient) ReleaseConn(*fasthttp.clientConn)":                              "method (*fasthttp.HostClient) ReleaseConn(*github.com/gallop-http/gallop.ClientConn)",
	"var fasthttp.ErrTimeout *fasthttp.timeoutError":                                               "var fasthttp.ErrTimeout net.Error",
}

// testdata/api.txt lists the exported names of fasthttp v1.74.0, as written by internal/api/record. Additional names
// in this module do no harm.
func TestAPI(t *testing.T) {
	recorded, err := os.ReadFile("testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	have, err := api.List(".")
	if err != nil {
		t.Fatal(err)
	}
	missing := missingFrom(have, strings.Split(strings.TrimSpace(string(recorded)), "\n"))
	for _, line := range missing {
		t.Errorf("missing: %s", line)
	}
}

// missingFrom returns the lines of want that are not in have.
func missingFrom(have, want []string) (missing []string) {
	found := make(map[string]bool, len(have))
	for _, line := range have {
		found[line] = true
	}
	for _, line := range want {
		if other, differs := otherwise[line]; !found[line] && !(differs && found[other]) {
			missing = append(missing, line)
		}
	}
	return missing
}

// TestAPINotices shows that TestAPI would notice a difference.
func TestAPINotices(t *testing.T) {
	have := []string{"func fasthttp.Get() int", "const fasthttp.FIFO fasthttp.ConnPoolStrategyType = 1"}
	want := []string{"func fasthttp.Get() string", "func fasthttp.Get() int", "const fasthttp.FIFO fasthttp.ConnPoolStrategyType = 0"}
	if missing := missingFrom(have, want); len(missing) != 1 || missing[0] != want[0] {
		t.Errorf("%q", missing)
	}
}
